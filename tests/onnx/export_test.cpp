#include "vitrine/onnx/export.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/onnx/reader.h"
#include "tests/onnx/small_export.h"
#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace vitrine {
namespace {

using Strings = std::vector<std::string>;

class OnnxOfEveryModel : public testing::TestWithParam<std::string> {};

/// The shape of a batch of any size, as the file states it.
Strings batch_shape(const torch::Tensor& t) {
  Strings shape = {"batch"};
  for (int64_t i = 1; i < t.dim(); ++i) shape.push_back(std::to_string(t.size(i)));
  return shape;
}

}  // namespace

TEST(OnnxInLowerPrecision, HasSmallerMatricesAndIsValid) {
  const test::TemporaryFolder folder;
  const auto loaded = test::small_checkpoint("vit_ti16", "dim: 64\nhidden: 256\n");
  const auto bytes = [&](Precision precision) {
    return static_cast<double>(
        export_onnx(loaded, folder / "m.onnx", {.precision = precision}).bytes);
  };
  const auto full = bytes(Precision::Float32);
  EXPECT_LT(bytes(Precision::BFloat16), 0.65 * full);
  EXPECT_LT(bytes(Precision::Int8), 0.45 * full);
}

TEST(OnnxInLowerPrecision, IsRefusedWhereNothingWouldBeLower) {
  const test::TemporaryFolder folder;
  const auto path = folder / "m.onnx";
  const auto error = test::error_of([&] {
    export_onnx(test::small_checkpoint("resnet18"), path, {.precision = Precision::Int8});
  });
  EXPECT_TRUE(test::contains(error, "resnet18 has no products with constant matrices"));
  EXPECT_FALSE(fs::exists(path));
}

TEST(OnnxInLowerPrecision, RefusesMatricesThatAreNotFinite) {
  const test::TemporaryFolder folder;
  const auto loaded = test::small_checkpoint("vit_ti16");
  const torch::NoGradGuard no_grad;
  loaded.model->named_parameters()["blocks.0.mlp.fc1.weight"][0][0] = NAN;
  const auto error = test::error_of(
      [&] { export_onnx(loaded, folder / "m.onnx", {.precision = Precision::Int8}); });
  EXPECT_TRUE(test::contains(error, "'blocks.0.mlp.fc1.weight' has numbers that are not finite"));
}

TEST_P(OnnxOfEveryModel, IsValidForBatchesOfAnySize) {
  const test::TemporaryFolder folder;
  const auto loaded = test::small_checkpoint(GetParam());
  const auto path = folder / "m.onnx";
  const auto refused = test::refused_models().find(GetParam());
  if (refused != test::refused_models().end()) {
    const auto error = test::error_of([&] { export_onnx(loaded, path); });
    EXPECT_TRUE(test::contains(error, refused->second));
    EXPECT_FALSE(fs::exists(path));
    return;
  }
  const auto written = export_onnx(loaded, path);
  const auto file = test::read_onnx(path);
  EXPECT_EQ(file.operator_set, 17);
  const auto x = loaded.model->example_input(3);
  ASSERT_EQ(file.inputs.size(), 1u);
  EXPECT_EQ(file.inputs[0].shape, batch_shape(x));
  ASSERT_EQ(file.outputs.size(), 1u);
  EXPECT_EQ(file.outputs[0].shape, batch_shape(loaded.model->forward(x)));
  EXPECT_EQ(file.inputs[0].name, written.inputs.at(0).name);
  EXPECT_EQ(written.bytes, static_cast<int64_t>(fs::file_size(path)));
  if (loaded.model->image_shape()) {
    EXPECT_EQ(file.inputs[0].name, "image");
    EXPECT_EQ(file.outputs[0].name, "logits");
  }
  if (loaded.model->decoder() != nullptr) {
    EXPECT_EQ(file.inputs[0].name, "tokens");
    EXPECT_EQ(file.outputs[0].name, "logits");
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, OnnxOfEveryModel, testing::ValuesIn(models().names()),
                         [](const auto& info) { return info.param; });

TEST(OnnxExport, KeepsTheNamesOfTheParameters) {
  const test::TemporaryFolder folder;
  export_onnx(test::small_checkpoint("vit_ti16"), folder / "m.onnx");
  const auto file = test::read_onnx(folder / "m.onnx");
  for (const auto* name : {"cls_token", "pos_embed", "patch_embed.proj.weight",
                           "blocks.1.attn.qkv.weight", "blocks.0.norm1.bias", "head.bias"})
    EXPECT_EQ(std::count(file.constants.begin(), file.constants.end(), name), 1) << name;
}

TEST(OnnxExport, FoldsWhatDoesNotDependOnTheInput) {
  const test::TemporaryFolder folder;
  export_onnx(test::small_checkpoint("vit_ti16", "positions: learned_2d"), folder / "m.onnx");
  const auto operators = test::read_onnx(folder / "m.onnx").operators;
  EXPECT_EQ(operators.at("LayerNormalization"), 5);  // two in each of two blocks, and the last
  EXPECT_EQ(operators.at("Softmax"), 2);
  EXPECT_EQ(operators.at("Erf"), 2);
  EXPECT_EQ(operators.at("Concat"), 2);  // the class token, and the shape to which it is repeated
  EXPECT_FALSE(operators.contains("Identity"));
}

TEST(OnnxExport, HasTheAttentionWeightsOnlyIfAsked) {
  const test::TemporaryFolder folder;
  const auto loaded = test::small_checkpoint("vit_ti16");
  const auto plain = export_onnx(loaded, folder / "plain.onnx");
  const auto with = export_onnx(loaded, folder / "with.onnx", {.attention = true});
  EXPECT_EQ(plain.outputs.size(), 1u);
  const auto file = test::read_onnx(folder / "with.onnx");
  ASSERT_EQ(file.outputs.size(), 3u);
  EXPECT_EQ(file.outputs[1].name, "attention_0");
  EXPECT_EQ(file.outputs[2].shape, (Strings{"batch", "2", "17", "17"}));
  EXPECT_EQ(with.nodes, plain.nodes);  // they are computed once
}

TEST(OnnxExport, MetadataHoldPreprocessingAndClasses) {
  const test::TemporaryFolder folder;
  export_onnx(test::small_checkpoint("vit_ti16"), folder / "m.onnx");
  const auto metadata = test::read_onnx(folder / "m.onnx").metadata;
  EXPECT_EQ(metadata.at("classes"), R"(["a","b","c","d","e"])");
  EXPECT_EQ(metadata.at("mean"), "[0.1,0.2,0.3]");
  EXPECT_EQ(metadata.at("std"), "[0.4,0.5,0.6]");
  EXPECT_EQ(metadata.at("image"), "32");
  EXPECT_TRUE(test::contains(metadata.at("model"), "name: vit_ti16"));
  EXPECT_TRUE(test::contains(metadata.at("preprocess"), "interpolation: bilinear"));
}

TEST(OnnxCommand, WritesTheFileAndSaysWhatItTakes) {
  const test::TemporaryFolder folder;
  test::save_small_checkpoint(folder / "m.safetensors", "vit_c10_small", test::kSmallVit);
  const auto path = (folder / "m.onnx").string();
  const auto done = test::run_command({"export", (folder / "m.safetensors").string(), "--format",
                                       "onnx", "-o", path, "--attention"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(test::contains(done.out, "input  image (B, 3, 16, 16)"));
  EXPECT_TRUE(test::contains(done.out, "output logits (B, 4)"));
  EXPECT_TRUE(test::contains(done.out, "output attention_1 (B, 2, 17, 17)"));
  EXPECT_EQ(test::read_onnx(path).inputs[0].shape, (Strings{"batch", "3", "16", "16"}));
}

}  // namespace vitrine
