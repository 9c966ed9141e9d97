// The maths behind explanations against an independent program
// (tests/fixtures/make_explanations.py) and closed formulas.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/formula_weights.h"
#include "tests/support/small_model.h"
#include "vitrine/core/files.h"
#include "vitrine/inspect/explain/filters.h"
#include "vitrine/inspect/explain/gradient_pass.h"
#include "vitrine/inspect/rollout.h"
#include "vitrine/models/resnet.h"
#include "vitrine/models/vit.h"
#include "vitrine/nn/feature_capture.h"

namespace vitrine {
namespace {

constexpr double kClose = 1e-4;  // relative: float here, double there

/// The networks of the generator.
class Reference : public testing::TestWithParam<std::string> {
 protected:
  Reference()
      : model_({.image = 16,
                .patch = 4,
                .classes = 5,
                .dim = 16,
                .depth = 3,
                .heads = 2,
                .hidden = 32,
                .pool = GetParam() == "mean" ? Pool::Mean : Pool::Token}) {
    const auto all =
        nlohmann::json::parse(read_file(VITRINE_SOURCE_DIR "/tests/fixtures/explanations.json"));
    expected_ = all.at(GetParam());
    target_ = all.at("target");
    test::fill_by_name(model_);
    model_.eval();
  }

  static torch::Tensor as_tensor(const nlohmann::json& values) {
    return torch::tensor(values.get<std::vector<double>>(), torch::kDouble);
  }
  void expect_map(const std::string& key, const torch::Tensor& map) {
    ASSERT_EQ(map.sizes(), (std::vector<int64_t>{1, 4, 4})) << key;
    const auto reference = as_tensor(expected_.at(key));
    EXPECT_GT(reference.max().item<double>(), reference.min().item<double>()) << key;
    EXPECT_TRUE(torch::allclose(map.flatten().to(torch::kDouble), reference, kClose, 1e-7)) << key;
  }

  Vit model_;
  nlohmann::json expected_;
  int64_t target_ = 0;
  torch::Tensor x_ = test::numbers("input", {1, 3, 16, 16}, 2);
};

torch::Tensor row(std::initializer_list<double> numbers) {
  return torch::tensor(std::vector<double>(numbers), torch::kDouble);
}

}  // namespace

TEST_P(Reference, MapsEqualThoseOfAnIndependentProgram) {
  const auto pass = gradient_pass(model_, x_, target_);
  EXPECT_TRUE(torch::allclose(pass.logits[0].to(torch::kDouble), as_tensor(expected_["logits"]),
                              kClose, 1e-6));
  ASSERT_EQ(pass.layers.size(), 3u);
  expect_map("relevance",
             attention_relevance(pass.layers, pass.gradients, relevance_readout(pass)));
  expect_map("grad_cam",
             grad_cam(pass.features, pass.feature_gradient, pass.layers.back().queries));
  const auto rollout = [&](const RolloutConfig& config) {
    return attention_rollout(pass.layers, pass.readout, config);
  };
  expect_map("rollout", rollout({}));
  expect_map("rollout_max_discard", rollout({.heads = HeadFusion::Max, .discard = 0.6}));
  expect_map("rollout_min", rollout({.heads = HeadFusion::Min}));
}

TEST_P(Reference, TheLogitLensEqualsThatOfAnIndependentProgramAndEndsInTheAnswer) {
  const auto lens = lens_logits(model_, x_);
  ASSERT_EQ(lens.size(), 4u);
  for (size_t i = 0; i < lens.size(); ++i)
    EXPECT_TRUE(torch::allclose(lens[i][0].to(torch::kDouble), as_tensor(expected_["lens"][i]),
                                kClose, 1e-6))
        << i;
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(lens.back(), model_.forward(x_)));
}

INSTANTIATE_TEST_SUITE_P(Readouts, Reference, testing::Values("token", "mean"),
                         [](const auto& info) { return info.param; });

TEST(GradientPass, ExplainsTheMostLikelyClassByDefault) {
  torch::manual_seed(1);
  const auto model = test::small("vit_c10_small").build();
  model->eval();
  const auto x = model->example_input(3);
  const auto pass = gradient_pass(*model, x, std::nullopt);
  const auto best = pass.logits.argmax(1);
  for (int64_t b = 0; b < 3; ++b) EXPECT_EQ(pass.targets[b], best[b].item<int64_t>());
  EXPECT_FALSE(pass.logits.requires_grad());
  for (const auto& p : model->parameters()) EXPECT_FALSE(p.grad().defined());
  EXPECT_TRUE(
      test::contains(test::error_of([&] { gradient_pass(*model, x, 5); }), "class 5 of 5 classes"));
}

TEST(GradientPass, EveryModelAnswersFromTheWeightsThatItRecords) {
  for (const auto& name : models().names()) {
    torch::manual_seed(1);
    const auto model = test::small(name).build();
    if (!model->image_shape()) continue;
    model->eval();
    const auto x = model->example_input(2);
    const auto pass = gradient_pass(*model, x, 1);  // throws where weights are not used
    const torch::NoGradGuard no_grad;
    EXPECT_TRUE(torch::allclose(pass.logits, model->forward(x), 1e-4, 1e-5)) << name;
    for (const auto& gradient : pass.gradients)
      EXPECT_GT(gradient.abs().max().item<double>(), 0) << name;
    ASSERT_TRUE(pass.feature_gradient.defined()) << name;
    EXPECT_GT(pass.feature_gradient.abs().max().item<double>(), 0) << name;
    for (const auto& layer : pass.layers)
      EXPECT_TRUE(torch::allclose(layer.weights.sum(-1), torch::ones({}), 1e-4)) << name;
  }
}

TEST(GradientPass, ReachesFrozenNetworks) {
  torch::manual_seed(1);
  const auto model = test::small("cct_2_3x2").build();
  model->eval();
  for (auto& p : model->parameters()) p.requires_grad_(false);
  const auto pass = gradient_pass(*model, model->example_input(1), 0);
  EXPECT_GT(pass.gradients[0].abs().max().item<double>(), 0);
  EXPECT_GT(relevance_readout(pass).max().item<double>(), 0);
}

TEST(GradCam, OfAResNetIsTheHeadsRowTimesTheLastFeatureMap) {
  torch::manual_seed(1);
  ResNet model({.image = 32, .classes = 5, .stem = ResNetStem::Cifar, .blocks = {1, 1}});
  model.eval();
  const auto x = model.example_input(2);
  const auto pass = gradient_pass(model, x, 3);
  const torch::NoGradGuard no_grad;
  ASSERT_EQ(pass.features.sizes(), (std::vector<int64_t>{2, 128, 16, 16}));
  EXPECT_TRUE(torch::allclose(pass.features.mean({2, 3}), model.features(x), 1e-5, 1e-6));
  const auto weights = model.fc->weight[3].view({1, 128, 1, 1}) / (16.0 * 16);
  const auto expected = (weights * pass.features).sum(1).clamp_min(0);
  EXPECT_GT(expected.max().item<double>(), 0);
  EXPECT_TRUE(
      torch::allclose(grad_cam(pass.features, pass.feature_gradient), expected, 1e-4, 1e-7));
}

TEST(GradCam, LeavesTheClassTokenOut) {
  // One channel; the class token's gradient of 100 must not count.
  const auto features = row({7, 1, 2, -3}).view({1, 4, 1});
  const auto gradient = row({100, 1, 2, 3}).view({1, 4, 1});
  EXPECT_TRUE(torch::equal(grad_cam(features, gradient, {1, 3, 1})[0][0], row({2, 4, 0})));
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               grad_cam(features, gradient, {2, 3, 1});
                             }),
                             "do not lie on a grid of 7 tokens"));
}

TEST(LogitLens, IsEmptyWithoutBlocks) {
  const auto model = test::small("resnet18").build();
  model->eval();
  EXPECT_TRUE(lens_logits(*model, model->example_input(1)).empty());
}

TEST(FeatureCapture, HoldsTheLastFeaturesAndNothingOutside) {
  const auto model = test::small("vit_c10_small").build();
  model->eval();
  const torch::NoGradGuard no_grad;
  const auto x = model->example_input(1);
  FeatureCapture outer;
  {
    FeatureCapture inner;
    model->forward(x);
    EXPECT_EQ(inner.features.dim(), 3);
  }
  EXPECT_FALSE(outer.features.defined());
}

TEST(Relevance, OfTwoTokensFollowsTheUpdateRule) {
  // R1 = I + (G1 A1)+, R2 = R1 + (G2 A2)+ R1; of two heads the mean.
  const TokenGrid grid{1, 1, 1};
  const auto a =
      torch::tensor({{{{0.5, 0.5}, {0.25, 0.75}}, {{1.0, 0.0}, {0.5, 0.5}}}}, torch::kDouble);
  const auto g =
      torch::tensor({{{{1.0, 2.0}, {-4.0, 0.0}}, {{3.0, 9.0}, {2.0, -2.0}}}}, torch::kDouble);
  const AttentionRecord layer{a, grid, grid};
  const auto readout = torch::tensor({{1.0, 0.0}}, torch::kDouble);
  // Mean of the heads' positive products: [[1.75, 0.5], [0.5, 0]]; (I + that)^2 at row 0, column 1:
  // 2.75 * 0.5 + 0.5 * 1.
  const auto map = attention_relevance({layer, layer}, {g, g}, readout);
  EXPECT_NEAR(map.item<double>(), 2.75 * 0.5 + 0.5, 1e-12);
  EXPECT_TRUE(test::contains(test::error_of([&] { attention_relevance({layer}, {}, readout); }),
                             "0 gradients of 1 layers"));
}

TEST(Rollout, FusesHeadsByTheGreatestOrLeastWeightAndDiscardsTheSmallest) {
  const TokenGrid grid{1, 2, 0};
  const auto weights =
      torch::tensor({{{{0.9, 0.1}, {0.4, 0.6}}, {{0.2, 0.8}, {0.5, 0.5}}}}, torch::kDouble);
  const auto of = [&](const RolloutConfig& config) {
    return attention_rollout({{weights, grid, grid}}, torch::tensor({{1.0, 0.0}}, torch::kDouble),
                             config)[0][0];
  };
  EXPECT_TRUE(torch::allclose(of({.heads = HeadFusion::Max}), row({1.9 / 2.7, 0.8 / 2.7})));
  EXPECT_TRUE(torch::allclose(of({.heads = HeadFusion::Min}), row({1.2 / 1.3, 0.1 / 1.3})));
  // The means are (0.55, 0.45; 0.45, 0.55); the smallest quarter of four is one of 0.45, half is
  // both.
  EXPECT_TRUE(torch::allclose(of({.discard = 0.5}), row({1, 0})));
  EXPECT_TRUE(
      test::contains(test::error_of([&] { of({.discard = 1}); }), "discard 1 is out of range"));
}

TEST(AttentionDistance, OfUniformAttentionIsTheMeanDistance) {
  const TokenGrid grid{2, 2, 1};
  const AttentionRecord uniform{torch::full({1, 3, 5, 5}, 0.2), grid, grid};
  const double expected = (0 + 4 + 4 + std::sqrt(32)) / 4;  // cells of 4 x 4 pixels
  for (int64_t h = 0; h < 3; ++h)
    EXPECT_NEAR(head_distance(uniform, 8)[0][h].item<double>(), expected, 1e-6);
  EXPECT_NEAR(uniform_distance(grid, grid, 8), expected, 1e-12);
}

TEST(AttentionDistance, CountsOnlyTokensWithAPosition) {
  // Every token looks at the class token with 0.9 and at itself, then at its right neighbour.
  const TokenGrid grid{1, 3, 1};
  auto own = torch::zeros({1, 1, 4, 4}, torch::kDouble);
  auto next = own.clone();
  for (int64_t i = 1; i < 4; ++i) {
    own[0][0][i][0] = next[0][0][i][0] = 0.9;
    own[0][0][i][i] = 0.1;
    next[0][0][i][i == 3 ? 1 : i + 1] = 0.1;
  }
  EXPECT_NEAR(head_distance({own, grid, grid}, 30).item<double>(), 0, 1e-12);
  EXPECT_NEAR(head_distance({next, grid, grid}, 30).item<double>(), (10 + 10 + 20) / 3.0, 1e-12);
}

TEST(AttentionDistance, MeasuresReducedKeysFromTheirCentres) {
  const AttentionRecord layer{torch::ones({1, 1, 4, 1}), {2, 2, 0}, {1, 1, 0}};
  EXPECT_NEAR(head_distance(layer, 8).item<double>(), std::sqrt(8), 1e-6);
}

TEST(FilterComponents, AreTheDirectionsOfVariance) {
  const auto smooth =
      torch::tensor({1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}) / 2;
  const auto edge =
      torch::tensor({0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0}) / 2;
  const auto offset = torch::arange(12);  // PCA takes no notice of it
  const auto filters =
      torch::stack({3 * smooth + offset, -3 * smooth + offset, edge + offset, -1 * edge + offset})
          .view({4, 3, 2, 2});
  const auto components = filter_components(filters, 28);
  ASSERT_EQ(components.size(), 2u);
  EXPECT_NEAR(components[0].variance, 0.9, 1e-9);
  EXPECT_NEAR(components[1].variance, 0.1, 1e-9);
  EXPECT_EQ(components[0].image.at(0, 0)[0], 255);  // red, where the channel of `smooth` is
  EXPECT_EQ(components[0].image.at(0, 0)[1], 128);
  EXPECT_EQ(std::abs(components[1].image.at(0, 0)[1] - components[1].image.at(1, 0)[1]), 255);
}

}  // namespace vitrine
