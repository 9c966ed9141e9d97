#include "vitrine/nn/attention.h"

#include <algorithm>
#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/attention.h"

namespace vitrine {

TEST(Attention, EqualsTorchsMultiheadAttention) {
  torch::manual_seed(1);
  Attention ours(AttentionConfig{.dim = 24, .heads = 3});
  torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(24, 3));
  const torch::NoGradGuard no_grad;
  theirs->in_proj_weight.copy_(ours->qkv->weight);
  theirs->in_proj_bias.copy_(ours->qkv->bias);
  theirs->out_proj->weight.copy_(ours->proj->weight);
  theirs->out_proj->bias.copy_(ours->proj->bias);
  const auto x = torch::randn({2, 7, 24});
  const auto t = x.transpose(0, 1);
  const auto expected = std::get<0>(theirs->forward(t, t, t)).transpose(0, 1);
  EXPECT_TRUE(torch::allclose(ours(x), expected, 1e-5, 1e-6));
}

TEST(Attention, ACausalTokenSeesOnlyThoseBeforeIt) {
  torch::manual_seed(1);
  Attention layer(AttentionConfig{.dim = 12, .heads = 3, .causal = true});
  const auto x = torch::randn({2, 5, 12});
  AttentionCapture capture;
  const auto y = layer(x);
  const auto& weights = capture.layers.at(0).weights;  // (B, H, T, T)
  EXPECT_EQ(weights.triu(1).abs().max().item<double>(), 0);
  EXPECT_TRUE(torch::allclose(weights.sum(-1), torch::ones({2, 3, 5})));
  EXPECT_TRUE(torch::allclose(layer(x.slice(1, 0, 3)), y.slice(1, 0, 3), 1e-5, 1e-6));
}

namespace {

/// An attention layer whose heads weigh distances up to `reach` at random.
Attention relative_attention(int64_t reach, bool causal) {
  torch::manual_seed(1);
  Attention layer(
      AttentionConfig{.dim = 8, .heads = 2, .causal = causal, .max_relative_distance = reach});
  const torch::NoGradGuard no_grad;
  layer->relative_bias.normal_();
  return layer;
}

/// The bias of each pair of tokens, written out: (H, T, T).
torch::Tensor bias_by_hand(const torch::Tensor& by_distance, int64_t reach, int64_t T,
                           bool causal) {
  auto bias = torch::empty({by_distance.size(0), T, T}, by_distance.options());
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < T; ++j) {
      const auto distance = std::clamp(j - i, -reach, reach);
      bias.select(1, i).select(1, j).copy_(by_distance.select(1, distance + reach));
      if (causal && j > i) bias.select(1, i).select(1, j).fill_(-INFINITY);
    }
  return bias;
}

}  // namespace

TEST(Attention, RelativePositionsAreABiasByDistance) {
  for (const bool causal : {false, true}) {
    auto layer = relative_attention(/*reach=*/2, causal);
    const auto x = torch::randn({2, 6, 8});
    const auto qkv = layer->qkv(x).view({2, 6, 3, 2, 4});
    const auto bias = bias_by_hand(layer->relative_bias.detach(), 2, 6, causal);
    const auto expected = layer->proj(biased_attention(qkv, bias));
    EXPECT_TRUE(torch::allclose(layer(x), expected, 1e-5, 1e-6));
  }
}

TEST(Attention, RelativePositionsDoNotChangeWhenAllMove) {
  auto layer = relative_attention(/*reach=*/7, /*causal=*/true);
  // Two other tokens before the same four: these see each other as before.
  const auto four = torch::randn({1, 4, 8}), moved = torch::cat({torch::randn({1, 2, 8}), four}, 1);
  AttentionCapture capture;
  layer(four);
  layer(moved);
  const auto alone = capture.layers.at(0).weights;
  auto among = capture.layers.at(1).weights.slice(2, 2).slice(3, 2);
  among = among / among.sum(-1, /*keepdim=*/true);
  EXPECT_TRUE(torch::allclose(alone, among, 1e-5, 1e-6));
}

TEST(Attention, GradientWithRelativePositionsMatchesDifferences) {
  auto layer = relative_attention(/*reach=*/2, /*causal=*/true);
  layer->to(torch::kDouble);
  EXPECT_TRUE(
      test::gradients_match([&](const auto& x) { return layer(x); }, torch::randn({2, 4, 8})));
  const auto x = torch::randn({2, 4, 8}, torch::kDouble);
  const auto of_bias = [&](const auto& by_distance) {
    layer->relative_bias = by_distance;
    return layer(x);
  };
  EXPECT_TRUE(test::gradients_match(of_bias, torch::randn({2, 5})));
}

TEST(Attention, RefusesHeadsThatDoNotDivideTheWidth) {
  const auto message = test::error_of([] { Attention(AttentionConfig{.dim = 65, .heads = 4}); });
  EXPECT_TRUE(test::contains(message, "attention: dim 65 is not a multiple of heads 4"));
}

TEST(AttentionCapture, CollectsWeightsOnlyWhileItLives) {
  Attention layer(AttentionConfig{.dim = 8, .heads = 2});
  layer->eval();
  const auto x = torch::randn({1, 5, 8});
  const auto plain = layer(x);
  {
    AttentionCapture capture;
    EXPECT_TRUE(layer(x).equal(plain));
    ASSERT_EQ(capture.layers.size(), 1u);
    EXPECT_EQ(capture.layers[0].weights.sizes(), (std::vector<int64_t>{1, 2, 5, 5}));
    AttentionCapture inner;
    layer(x);
    EXPECT_EQ(capture.layers.size(), 1u);
    EXPECT_EQ(inner.layers.size(), 1u);
  }
  EXPECT_EQ(AttentionCapture::current(), nullptr);
}

}  // namespace vitrine
