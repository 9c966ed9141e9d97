// PVT and PVT v2 by others' names: small files with those names must give what our own model gives.
#include <nlohmann/json.hpp>

#include "tests/support/small_source.h"

namespace vitrine {
namespace {

const std::vector<std::string> kSmallPyramid = {"classes=5", "dims=[8, 16, 20, 16]",
                                                "mlp_ratios=[2, 2, 2, 2]"};

struct PvtCase {
  std::string source, model;
  int64_t image, resize;
  std::string matrix, reduction;  // tensors of theirs, the second of the first stage
};

class PvtNames : public testing::TestWithParam<PvtCase>, protected test::SmallSource {
 protected:
  PvtNames() : SmallSource(GetParam().source, GetParam().model, settings()) {}

  static std::vector<std::string> settings() {
    auto all = kSmallPyramid;
    all.push_back(fmt::format("image={}", GetParam().image));
    return all;
  }
};

}  // namespace

TEST_P(PvtNames, RoundTripIsExact) {
  expect_round_trip(GetParam().source);
  const auto preprocess = imported().checkpoint.info.preprocess;
  EXPECT_EQ(preprocess->image, GetParam().image);
  EXPECT_EQ(preprocess->resize, GetParam().resize);
  EXPECT_EQ(preprocess->interpolation, Interpolation::Bicubic);
}

TEST_P(PvtNames, NamesWhatIsMissingAndWhatDoesNotFit) {
  ASSERT_TRUE(has(GetParam().matrix) && has(GetParam().reduction));
  for (auto& [name, value] : file.tensors)
    if (name == GetParam().matrix) value = torch::zeros({3, 7});
  EXPECT_TRUE(test::contains(
      message(), fmt::format("'{}' is 3x7, the other weights ask for ", GetParam().matrix)));
  erase(GetParam().matrix);
  EXPECT_TRUE(test::contains(message(), fmt::format("lacks '{}'", GetParam().matrix)));
}

TEST_P(PvtNames, AStageWithoutItsReductionIsAnotherModel) {
  erase(GetParam().reduction);
  EXPECT_FALSE(message().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Sources, PvtNames,
    testing::Values(
        PvtCase{"pvt", "pvt_tiny", 64, 73, "block3.1.mlp.fc2.weight", "block1.0.attn.sr.weight"},
        PvtCase{"hugging_face_pvt", "pvt_tiny", 64, 73, "pvt.encoder.block.2.1.mlp.dense2.weight",
                "pvt.encoder.block.0.0.attention.self.sequence_reduction.weight"},
        PvtCase{"pvt_v2", "pvt_v2_b1", 224, 256, "block3.1.mlp.fc2.weight",
                "block1.0.attn.sr.weight"},
        PvtCase{"timm_pvt_v2", "pvt_v2_b1", 224, 248, "stages.2.blocks.1.mlp.fc2.weight",
                "stages.0.blocks.0.attn.sr.weight"}),
    [](const auto& test) { return test.param.source; });

TEST(PvtSources, AnotherImageInterpolatesThePositionsOfEveryStage) {
  auto settings = kSmallPyramid;
  settings.push_back("image=64");
  const test::SmallSource pvt("pvt", "pvt_tiny", settings);
  const auto larger = pvt.imported({"image=96"});
  EXPECT_EQ(larger.account.count(LoadStatus::Resized), 4);
  EXPECT_TRUE(test::contains(larger.account.lines(), "1x5x16 -> 1x10x16, bilinear"));
  const auto tables = larger.checkpoint.model->position_tables();
  EXPECT_EQ(tables.at(0).size(1), 24 * 24);
  EXPECT_TRUE(tables.at(3).select(1, 0).equal(pvt.model->position_tables().at(3).select(1, 0)));
}

TEST(PvtSources, TellTheVariant) {
  const auto variant = [](const std::string& source, const std::string& model) {
    const test::SmallSource small(source, model, kSmallPyramid);
    return small.imported().checkpoint.info.model.name();
  };
  EXPECT_EQ(variant("pvt", "pvt_small"), "pvt_small");
  EXPECT_EQ(variant("pvt_v2", "pvt_v2_b2"), "pvt_v2_b2");
}

TEST(PvtSources, TheLinearVariantIsRefused) {
  test::SmallSource v2("pvt_v2", "pvt_v2_b1", kSmallPyramid);
  v2.file.tensors.emplace_back("block4.0.attn.sr.weight", torch::zeros({16, 16, 1, 1}));
  EXPECT_TRUE(test::contains(v2.message(), "PVT v2-B2-Linear"));
}

TEST(PvtSources, AFolderOfHuggingFaceTellsHeadsAndPreprocessing) {
  auto settings = kSmallPyramid;
  settings.insert(settings.end(), {"image=64", "heads=[2, 4, 4, 2]"});
  const test::SmallSource pvt("hugging_face_pvt", "pvt_tiny", settings);
  save_safetensors(pvt.folder / "model.safetensors", pvt.file);
  nlohmann::json config = {{"model_type", "pvt"},
                           {"image_size", 64},
                           {"num_channels", 3},
                           {"patch_sizes", {4, 2, 2, 2}},
                           {"hidden_sizes", {8, 16, 20, 16}},
                           {"depths", {2, 2, 2, 2}},
                           {"num_attention_heads", {2, 4, 4, 2}},
                           {"mlp_ratios", {2, 2, 2, 2}},
                           {"sequence_reduction_ratios", {8, 4, 2, 1}},
                           {"hidden_act", "gelu"},
                           {"qkv_bias", true}};
  write_file_atomically(pvt.folder / "config.json", config.dump());
  const auto back = import_weights(pvt.folder.path());
  EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(pvt.choice));
  config["depths"] = {2, 2, 2, 3};
  write_file_atomically(pvt.folder / "config.json", config.dump());
  EXPECT_NE(test::error_of([&] { import_weights(pvt.folder.path()); }), "");
}

}  // namespace vitrine
