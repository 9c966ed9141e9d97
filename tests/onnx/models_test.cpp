#include "tests/onnx/runtime.h"
#include "tests/onnx/small_export.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/onnx/export.h"

namespace vitrine {
namespace {

constexpr double kModelTolerance = 1e-4;

struct Variant {
  std::string model;
  std::string settings{};
};

class OnnxModels : public test::OnnxRuntime {
 protected:
  /// Every model, exported and run for one example and for three.
  void expect_same_as_ours(const std::vector<Variant>& variants, bool attention = false) {
    std::vector<test::RuntimeJob> jobs;
    for (const auto& variant : variants) {
      const auto label = variant.model + " " + variant.settings;
      SCOPED_TRACE(label);
      const auto loaded = test::small_checkpoint(variant.model, variant.settings);
      const auto path = folder / (std::to_string(jobs.size()) + ".onnx");
      const auto written = export_onnx(loaded, path, {.attention = attention});
      for (const int64_t batch : {1, 3}) {
        const auto x = loaded.model->example_input(batch);
        jobs.push_back({label, path, written.inputs.at(0).name, x, expected(loaded, x, written)});
      }
    }
    expect_same(jobs, kModelTolerance);
  }

 private:
  /// What the model itself gives, by the names of the file's outputs.
  static std::map<std::string, torch::Tensor> expected(const LoadedCheckpoint& loaded,
                                                       const torch::Tensor& x,
                                                       const OnnxSummary& written) {
    const torch::NoGradGuard no_grad;
    if (written.outputs.size() == 1) return {{written.outputs[0].name, loaded.model->forward(x)}};
    AttentionCapture capture;
    std::map<std::string, torch::Tensor> made = {
        {written.outputs[0].name, loaded.model->forward(x)}};
    EXPECT_EQ(capture.layers.size() + 1, written.outputs.size());
    for (size_t i = 0; i < capture.layers.size(); ++i)
      made["attention_" + std::to_string(i)] = capture.layers[i].weights;
    return made;
  }
};

}  // namespace

TEST_F(OnnxModels, InLowerPrecisionAnswerNearlyAsInFp32) {
  for (const auto precision : {Precision::BFloat16, Precision::Int8}) {
    std::vector<test::RuntimeJob> jobs;
    double largest = 0;
    for (const auto* name : {"vit_ti16", "cct_2_3x2", "swin_t", "deit_ti16_distilled"}) {
      const auto loaded = test::small_checkpoint(name);
      const auto path = folder / (std::to_string(jobs.size()) + ".onnx");
      const auto written = export_onnx(loaded, path, {.precision = precision});
      const auto x = loaded.model->example_input(3);
      const torch::NoGradGuard no_grad;
      const auto logits = loaded.model->forward(x);
      largest = std::max(largest, logits.abs().max().item<double>());
      jobs.push_back({name, path, "image", x, {{"logits", logits}}});
    }
    expect_same(jobs, /*tolerance=*/0.05 * largest);
  }
}

TEST_F(OnnxModels, OfTheRegistryAnswerAsOurs) {
  std::vector<Variant> variants;
  for (const auto& name : models().names())
    if (!test::refused_models().contains(name) && models().get(name).alias_of.empty())
      variants.push_back({name});
  EXPECT_GT(variants.size(), 10u);
  expect_same_as_ours(variants);
}

TEST_F(OnnxModels, OfEverySettingAnswerAsOurs) {
  expect_same_as_ours({
      {"vit_ti16", "positions: learned_2d"},
      {"vit_ti16", "positions: sinusoidal\npool: mean"},
      {"vit_ti16", "positions: none\nnorm: post\nactivation: quick_gelu"},
      {"vit_ti16", "attention: {kind: linformer, length: 5}"},
      {"vit_ti16", "attention: {kind: performer, features: 8}"},
      {"vit_ti16", "attention: {kind: reformer, bucket: 4, rounds: 2}"},
      {"vit_ti16", "channels: 1\nactivation: relu"},
      {"cct_2_3x2", "convolutions: 1\npositions: sinusoidal"},
      {"resnet18", "stem: cifar\nblocks: [1, 1]"},
      {"word_transformer", "positions: relative"},
      {"word_transformer", "positions: sinusoidal\nattention: {kind: performer, features: 8}"},
      {"word_transformer", "context: 70\nattention: {kind: performer, features: 8}"},
      {"sparse_c10_tiny",
       "assignment: per_head\npattern: {kind: fixed, stride: 4, summary_tokens: 1}"},
      {"sparse_c10_tiny", "assignment: per_layer\npattern: {kind: strided, stride: 4}"},
      {"sparse_c10_tiny", "order: planar\nhead_strides: [3, 5]"},
      {"sparse_c10_tiny", "channels: 1\npattern: {kind: local, stride: 3}"},
      {"igpt_c10", "classes: 5"},
      {"addition_transformer", "positions: relative"},
  });
}

TEST_F(OnnxModels, GiveTheirAttentionWeights) {
  expect_same_as_ours({{"vit_ti16"}, {"cct_2_3x2"}, {"word_transformer"}}, /*attention=*/true);
}

}  // namespace vitrine
