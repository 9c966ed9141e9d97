// The table of published networks: every row is a model here, with the counts of its architecture.
#include "vitrine/inspect/published_networks.h"

#include <gtest/gtest.h>

#include <map>

#include "vitrine/models/registry.h"

namespace vitrine {
namespace {

/// The counts of the published architectures with 1000 classes.
const std::map<std::string, int64_t> kParameters = {
    {"ResNet-50", 25'557'032},     {"ResNet-101", 44'549'160},   {"ResNet-152", 60'192'808},
    {"ViT-B/16", 86'859'496},      {"ViT-L/16", 304'715'752},    {"DeiT-S", 22'050'664},
    {"DeiT-B", 86'567'656},        {"PVT-Small", 24'485'864},    {"PVT-Medium", 44'208'104},
    {"PVT-Large", 61'369'320},     {"T2T-ViT_t-14", 21'465'422}, {"T2T-ViT_t-19", 39'084'686},
    {"T2T-ViT_t-24", 64'000'590},  {"TNT-S", 23'768'584},        {"TNT-B", 65'428'680},
    {"CvT-13", 19'997'480},        {"CvT-21", 31'622'696},       {"CvT-13 at 384", 19'997'480},
    {"CvT-21 at 384", 31'622'696}, {"CvT-13-NAS", 17'913'512},   {"Swin-T", 28'288'354},
    {"Swin-S", 49'606'258},        {"Swin-B", 87'768'224}};

}  // namespace

TEST(PublishedNetworks, AreModelsWithTheParametersOfTheirArchitecture) {
  ASSERT_EQ(published_networks().size(), kParameters.size());
  for (const auto& row : published_networks()) {
    ASSERT_TRUE(models().has(row.model)) << row.network;
    EXPECT_EQ(compared(row).parameters, kParameters.at(row.network)) << row.network;
    EXPECT_GT(row.imagenet, 70) << row.network;
    EXPECT_LT(row.imagenet, 90) << row.network;
    EXPECT_GT(row.real.value_or(100), row.imagenet) << row.network;
    EXPECT_LT(row.v2.value_or(0), row.imagenet) << row.network;
  }
}

TEST(PublishedNetworks, HaveTheFlopsOfTheReferenceOrANoteThatSaysWhyNot) {
  std::vector<std::string> other_parameters, other_multiply_adds;
  for (const auto& row : published_networks()) {
    const auto c = compared(row);
    EXPECT_TRUE(!row.note.empty() || !(c.parameters_differ() || c.multiply_adds_differ()))
        << row.network << ": " << c.parameters << " parameters, " << c.multiply_adds
        << " multiply-adds";
    if (c.parameters_differ()) other_parameters.push_back(row.network);
    if (c.multiply_adds_differ()) other_multiply_adds.push_back(row.network);
  }
  EXPECT_EQ(other_parameters,
            (std::vector<std::string>{"ResNet-50", "ViT-B/16", "ViT-L/16", "DeiT-B", "PVT-Small",
                                      "T2T-ViT_t-14", "TNT-B", "Swin-T"}));
  EXPECT_EQ(other_multiply_adds, (std::vector<std::string>{"ResNet-152"}));
}

TEST(PublishedNetworks, DifferWhereTheRoundedCountIsAnother) {
  ComparedNetwork c{{.network = "", .model = "", .parameters = 22, .multiply_adds = 10},
                    21'500'000,
                    10'290'000'000};
  EXPECT_FALSE(c.parameters_differ());
  EXPECT_FALSE(c.multiply_adds_differ());
  c.parameters = 21'499'999;
  c.multiply_adds = 10'310'000'000;
  EXPECT_TRUE(c.parameters_differ());
  EXPECT_TRUE(c.multiply_adds_differ());
}

}  // namespace vitrine
