// CvT by others' names: small files with those names must give what our own model gives.
#include <nlohmann/json.hpp>

#include "tests/support/small_source.h"

namespace vitrine {
namespace {

const std::vector<std::string> kSmallCvt = {"classes=5", "dims=[8, 64, 128]", "heads=[1, 1, 2]",
                                            "mlp_ratios=[4, 2.75, 2]"};

class CvtNames : public testing::TestWithParam<std::string>, protected test::SmallSource {
 protected:
  CvtNames() : SmallSource(GetParam(), "cvt_13", kSmallCvt) {}
};

}  // namespace

TEST_P(CvtNames, RoundTripIsExact) {
  expect_round_trip(GetParam());
  EXPECT_EQ(imported().checkpoint.info.preprocess->resize, 256);
}

TEST_P(CvtNames, CountersOfBatchesMayBeMissing) {
  const auto before = file.tensors.size();
  std::erase_if(file.tensors,
                [](const auto& tensor) { return tensor.first.ends_with("num_batches_tracked"); });
  EXPECT_EQ(before - file.tensors.size(), 3u * 13);
  EXPECT_EQ(imported().account.count(LoadStatus::Missing), 3 * 13);
}

INSTANTIATE_TEST_SUITE_P(Sources, CvtNames, testing::Values("cvt", "hugging_face_cvt"),
                         [](const auto& test) { return test.param; });

TEST(CvtSources, TheNamesOfTheAuthorsFilesTellTheImage) {
  const test::SmallSource cvt("cvt", "cvt_13", kSmallCvt);
  const auto how = [&](const std::string& name) {
    return *cvt.imported({}, name).checkpoint.info.preprocess;
  };
  EXPECT_EQ(how("CvT-13-224x224-IN-1k.safetensors").image, 224);
  const auto large = how("CvT-13-384x384-IN-1k.safetensors");
  EXPECT_EQ(large.image, 384);
  EXPECT_TRUE(large.stretch);
}

TEST(CvtSources, AFolderOfHuggingFaceTellsStridesAndImage) {
  auto settings = kSmallCvt;
  settings.insert(settings.end(), {"image=96", "kv_strides=[4, 2, 2]"});
  const test::SmallSource cvt("hugging_face_cvt", "cvt_13", settings);
  save_safetensors(cvt.folder / "model.safetensors", cvt.file);
  nlohmann::json config = {{"model_type", "cvt"},
                           {"num_channels", 3},
                           {"patch_sizes", {7, 3, 3}},
                           {"patch_stride", {4, 2, 2}},
                           {"patch_padding", {2, 1, 1}},
                           {"embed_dim", {8, 64, 128}},
                           {"depth", {1, 2, 10}},
                           {"num_heads", {1, 1, 2}},
                           {"mlp_ratio", {4.0, 2.75, 2.0}},
                           {"stride_kv", {4, 2, 2}},
                           {"cls_token", {false, false, true}},
                           {"qkv_bias", {true, true, true}}};
  const nlohmann::json processor = {{"crop_pct", 0.875},
                                    {"size", {{"shortest_edge", 96}}},
                                    {"resample", 3},
                                    {"image_mean", {0.485, 0.456, 0.406}},
                                    {"image_std", {0.229, 0.224, 0.225}}};
  write_file_atomically(cvt.folder / "config.json", config.dump());
  write_file_atomically(cvt.folder / "preprocessor_config.json", processor.dump());
  const auto back = import_weights(cvt.folder.path());
  EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(cvt.choice));
  EXPECT_EQ(back.checkpoint.info.preprocess->resize, 109);
  EXPECT_FALSE(back.checkpoint.info.preprocess->stretch);
  config["cls_token"] = {false, false, false};
  write_file_atomically(cvt.folder / "config.json", config.dump());
  EXPECT_TRUE(test::contains(test::error_of([&] { import_weights(cvt.folder.path()); }),
                             "cls_token [false,false,false] is not supported"));
}

}  // namespace vitrine
