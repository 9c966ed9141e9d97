#include "vitrine/nn/reduced_attention.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/conv_embed.h"

namespace vitrine {

TEST(FeatureMap, OfTokensAndBackCopiesNothing) {
  const auto tokens = torch::randn({2, 6, 5});
  const auto map = as_feature_map(tokens, {.rows = 2, .columns = 3});
  EXPECT_EQ(map.sizes(), torch::IntArrayRef({2, 5, 2, 3}));
  EXPECT_EQ(map[1][4][1][2].item<float>(), tokens[1][5][4].item<float>());
  EXPECT_EQ(map.data_ptr(), tokens.data_ptr());
  EXPECT_EQ(as_tokens(map).data_ptr(), tokens.data_ptr());
  EXPECT_TRUE(as_tokens(map).equal(tokens));
  EXPECT_TRUE(
      test::contains(test::error_of([&] { as_feature_map(tokens, {.rows = 2, .columns = 2}); }),
                     "tokens 2x6x5 do not fill a grid of 2 x 2"));
}

TEST(ConvEmbed, GivesATokenForEachPlaceOfTheKernel) {
  for (const auto& [kernel, stride, padding] :
       {std::tuple(4, 4, 0), std::tuple(7, 4, 3), std::tuple(7, 4, 2), std::tuple(3, 2, 1)}) {
    const ConvEmbedConfig config{.dim = 6, .kernel = kernel, .stride = stride, .padding = padding};
    for (const int64_t side : {8, 13}) {
      const auto tokens = ConvEmbed(config)(torch::randn({2, 3, side, side}));
      EXPECT_EQ(tokens.sizes(), torch::IntArrayRef({2, config.side(side) * config.side(side), 6}));
    }
  }
  EXPECT_EQ(ConvEmbedConfig{.kernel = 9}.side(8), 0);
}

TEST(ReducedAttention, LooksAtTheMeanOfASquareIfTheConvolutionAverages) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  const TokenGrid grid{.rows = 4, .columns = 6};
  ReducedAttention reduced(
      ReducedAttentionConfig{.dim = 4, .heads = 2, .reduction = 2, .grid = grid});
  reduced->sr->weight.copy_(torch::eye(4).view({4, 4, 1, 1}).expand({4, 4, 2, 2}) / 4);
  reduced->sr->bias.zero_();
  const auto x = torch::randn({3, 24, 4});
  const auto means = as_tokens(torch::avg_pool2d(as_feature_map(x, grid), /*kernel_size=*/2));
  const auto keys = reduced->kv(torch::layer_norm(means, {4})).narrow(2, 0, 4);  // (B, 6, C)
  AttentionCapture capture;
  reduced(x);
  const auto& layer = capture.layers.at(0);
  EXPECT_EQ(layer.queries, grid);
  EXPECT_EQ(layer.keys, (TokenGrid{.rows = 2, .columns = 3}));
  const auto heads = [](const torch::Tensor& t) {
    return t.view({3, t.size(1), 2, 2}).transpose(1, 2);  // (B, H, T, D)
  };
  const auto scores = heads(reduced->q(x)).matmul(heads(keys).transpose(-2, -1)) / std::sqrt(2.0);
  EXPECT_TRUE(torch::allclose(layer.weights, scores.softmax(-1), 1e-4, 1e-6));
}

TEST(ReducedAttention, RefusesToReduceAClassToken) {
  const auto message = test::error_of([] {
    ReducedAttention(
        ReducedAttentionConfig{.reduction = 2, .grid = {.rows = 4, .columns = 4, .prefix = 1}});
  });
  EXPECT_TRUE(test::contains(message, "a class token cannot be reduced"));
}

}  // namespace vitrine
