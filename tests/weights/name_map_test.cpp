#include "vitrine/weights/mapped_file.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

/// Every step once, as Google's .npz files need them.
NameMap all_steps() {
  using enum Step;
  return {.source = "a test",
          .signature = {"layer_0/*", "embedding/kernel"},
          .placeholders = {{"{dense}", {{"kernel", "weight"}, {"bias", "bias"}}}},
          .rows = {{"embedding/{dense}", "patch_embed.{dense}", {HwioToOihw}},
                   {"table", "start", {Squeeze}},
                   {"head", "head", {Orient}},
                   {"kv", {"k.weight", "v.weight"}, {Transpose}},
                   {{"layer_{i}/query/{dense}", "layer_{i}/key/{dense}", "layer_{i}/value/{dense}"},
                    "blocks.{i}.qkv.{dense}",
                    {HeadsOut}},
                   {"layer_{i}/out/{dense}", "blocks.{i}.proj.{dense}", {HeadsIn}}},
          .skips = {{"*/moment", "state of the optimizer"}},
          .prefixes = {"", "opt/target/"}};
}

const std::vector<WeightShape> kOurWeights = {{"patch_embed.weight", {12, 3, 2, 2}},
                                              {"patch_embed.bias", {12}},
                                              {"start", {12}},
                                              {"head", {5, 12}},
                                              {"k.weight", {4, 6}},
                                              {"v.weight", {2, 6}},
                                              {"blocks.0.qkv.weight", {36, 12}},
                                              {"blocks.0.qkv.bias", {36}},
                                              {"blocks.0.proj.weight", {12, 12}},
                                              {"blocks.0.proj.bias", {12}}};

NamedTensors random_weights() {
  torch::manual_seed(2);
  NamedTensors ours;
  for (const auto& weight : kOurWeights) ours.emplace_back(weight.name, torch::randn(weight.shape));
  return ours;
}

TensorFile their_file() {
  return {.tensors = exported(all_steps(), random_weights(), kOurWeights, /*heads=*/3),
          .metadata = {}};
}

torch::Tensor find(const TensorFile& file, const std::string& name) {
  const auto* found = file.find(name);
  return found != nullptr ? *found : torch::Tensor();
}

bool is_same_as_ours(const TensorFile& file) {
  const auto ours = random_weights();
  if (file.tensors.size() != ours.size()) return false;
  return std::all_of(ours.begin(), ours.end(), [&](const auto& weight) {
    return find(file, weight.first).equal(weight.second);
  });
}

}  // namespace

TEST(NameMap, GivesTheirLayoutsAndBackExactly) {
  const auto file = their_file();
  EXPECT_EQ(find(file, "embedding/kernel").sizes(), at::IntArrayRef({2, 2, 3, 12}));
  EXPECT_EQ(find(file, "layer_0/query/kernel").sizes(), at::IntArrayRef({12, 3, 4}));
  EXPECT_EQ(find(file, "layer_0/value/bias").sizes(), at::IntArrayRef({3, 4}));
  EXPECT_EQ(find(file, "layer_0/out/kernel").sizes(), at::IntArrayRef({3, 4, 12}));
  EXPECT_EQ(find(file, "kv").sizes(), at::IntArrayRef({6, 6}));
  const auto map = all_steps();
  const MappedFile mapped(map, file, "a file");
  EXPECT_EQ(mapped.blocks(), 1);
  EXPECT_TRUE(is_same_as_ours(mapped.converted(kOurWeights)));
}

TEST(NameMap, HeadsAreLaidOutAsInTheProduct) {
  const auto file = their_file();
  const auto x = torch::randn({5, 12});
  const auto theirs = torch::einsum("tc,chd->thd", {x, find(file, "layer_0/key/kernel")});
  const auto key =
      find({.tensors = random_weights(), .metadata = {}}, "blocks.0.qkv.weight").narrow(0, 12, 12);
  EXPECT_TRUE(torch::allclose(theirs.flatten(1), torch::linear(x, key), 1e-5, 1e-5));
}

TEST(NameMap, FindsThePrefixAndDropsLeadingDimensions) {
  auto file = their_file();
  for (auto& [name, tensor] : file.tensors) {
    if (name == "table") tensor = tensor.view({1, 1, 12});
    if (name == "head") tensor = tensor.t().contiguous();
    name = "opt/target/" + name;
  }
  file.tensors.emplace_back("opt/target/head/moment", torch::zeros({1}));
  const auto map = all_steps();
  EXPECT_TRUE(recognises(map, file));
  const MappedFile mapped(map, file, "a file");
  EXPECT_TRUE(is_same_as_ours(mapped.converted(kOurWeights)));
  EXPECT_EQ(mapped.account().count(LoadStatus::Skipped), 1);
  // One of theirs became two of ours.
  EXPECT_EQ(mapped.account().notes.size(), file.tensors.size() + 1);
  file.tensors.erase(file.tensors.begin());
  EXPECT_FALSE(recognises(map, file));
}

TEST(NameMap, NamesTheTensorAndBothShapes) {
  const auto map = all_steps();
  const auto message_with = [&](const std::string& name, const torch::Tensor& tensor) {
    auto file = their_file();
    for (auto& [known, value] : file.tensors)
      if (known == name) value = tensor;
    return test::error_of([&] { MappedFile(map, file, "a file").converted(kOurWeights); });
  };
  EXPECT_TRUE(test::contains(message_with("embedding/kernel", torch::zeros({2, 2, 4, 12})),
                             "a file: 'embedding/kernel' is 2x2x4x12, the other weights ask for "
                             "2x2x3x12"));
  EXPECT_TRUE(test::contains(message_with("layer_0/key/kernel", torch::zeros({12, 3, 5})),
                             "'layer_0/key/kernel' is 12x3x5, the other weights ask for 12x3x4"));
  EXPECT_TRUE(test::contains(message_with("layer_0/out/kernel", torch::zeros({12})),
                             "'layer_0/out/kernel' is 12, the other weights ask for 12x12"));
  EXPECT_TRUE(test::contains(message_with("kv", torch::zeros({6, 5})),
                             "'kv' is 6x5, the other weights ask for 6x6"));
  EXPECT_TRUE(test::contains(message_with("head", torch::zeros({})), "'head' is a number"));
  EXPECT_TRUE(test::contains(
      test::error_of([&] { MappedFile(map, their_file(), "a file").converted({kOurWeights[0]}); }),
      "the model has no weight 'patch_embed.bias' for 'embedding/bias'"));
}

TEST(NameMap, ExportNeedsTheHeadsAndEveryWeight) {
  EXPECT_TRUE(test::contains(
      test::error_of([&] { exported(all_steps(), random_weights(), kOurWeights); }), "by 0 heads"));
  auto ours = random_weights();
  ours.erase(ours.begin());
  EXPECT_TRUE(test::contains(test::error_of([&] { exported(all_steps(), ours, kOurWeights, 3); }),
                             "no weight 'patch_embed.weight', so it cannot become a test"));
}

}  // namespace vitrine
