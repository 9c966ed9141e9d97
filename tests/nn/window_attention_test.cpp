#include "vitrine/nn/window_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {
namespace {

const WindowConfig kShifted{.side = 6, .window = 3, .shift = 1};

WindowAttentionConfig small_windows(const WindowConfig& windows) {
  return {.dim = 8, .heads = 2, .windows = windows};
}

/// Both kinds, with random weights.
std::vector<WindowAttention> both_kinds(const WindowConfig& windows) {
  const auto c = small_windows(windows);
  std::shared_ptr<WindowAttentionImpl> table = std::make_shared<TableWindowAttentionImpl>(c),
                                       cosine = std::make_shared<CosineWindowAttentionImpl>(c, 0);
  std::vector<WindowAttention> made = {WindowAttention(table), WindowAttention(cosine)};
  const torch::NoGradGuard no_grad;
  for (auto& attention : made)
    for (auto& p : attention->parameters()) p.add_(0.5 * torch::randn_like(p));
  return made;
}

/// The window, counted row by row, in which a token of the grid lies, and the part of it: tokens
/// that the shift has brought in from the other side are of another part.
std::pair<int64_t, int64_t> place_of(int64_t token, const WindowConfig& c) {
  const auto line = [&](int64_t i) {
    const auto shifted = (i - c.shift + c.side) % c.side;
    return std::pair(shifted / c.window, i < c.shift ? 1 : 0);
  };
  const auto [row, wrapped_row] = line(token / c.side);
  const auto [column, wrapped_column] = line(token % c.side);
  return {row * (c.side / c.window) + column, 2 * wrapped_row + wrapped_column};
}

}  // namespace

TEST(Windows, HoldTheTokensOfEachSquare) {
  EXPECT_TRUE(Windows({.side = 4, .window = 2})
                  .order()
                  .equal(torch::tensor({0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15},
                                       torch::kLong)));
  EXPECT_TRUE(Windows({.side = 4, .window = 2, .shift = 1})
                  .order()
                  .equal(torch::tensor({5, 6, 9, 10, 7, 4, 11, 8, 13, 14, 1, 2, 15, 12, 3, 0},
                                       torch::kLong)));
  EXPECT_FALSE(Windows({.side = 4, .window = 4}).order().defined());
}

TEST(Windows, ComeTogetherAgain) {
  for (const auto& c : {kShifted, WindowConfig{.side = 6, .window = 2}}) {
    const Windows windows(c);
    EXPECT_EQ(windows.count() * windows.tokens(), 36);
    EXPECT_TRUE(windows.order().index_select(0, windows.inverse()).equal(torch::arange(36)));
  }
}

TEST(Windows, RefuseWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(test::error_of([] { Windows({.side = 8, .window = 3}); }),
                             "a window of 3 does not divide a grid of 8 x 8 tokens"));
  EXPECT_TRUE(test::contains(test::error_of([] { Windows({.side = 8, .window = 4, .shift = 4}); }),
                             "shift 4"));
}

TEST(RelativePositions, AreQueryLessKey) {
  const int64_t w = 3, L = 2 * w - 1;
  const auto index = relative_position_index(w).view({w * w, w * w});
  for (int64_t query = 0; query < w * w; ++query)
    for (int64_t key = 0; key < w * w; ++key) {
      const auto row = query / w - key / w, column = query % w - key % w;
      EXPECT_EQ(index[query][key].item<int64_t>(), (row + w - 1) * L + column + w - 1);
    }
}

TEST(RelativePositions, OnALogarithmicScale) {
  const auto positions = log_relative_positions(4, 4);
  ASSERT_EQ(positions.sizes(), (std::vector<int64_t>{49, 2}));
  const auto at = [&](int64_t row, int64_t column, int64_t part) {
    return positions[(row + 3) * 7 + column + 3][part].item<double>();
  };
  EXPECT_EQ(at(0, 2, 0), 0);
  EXPECT_NEAR(at(3, 0, 0), std::log2(9.0) / 3, 1e-6);
  EXPECT_NEAR(at(-1, 2, 0), -std::log2(1 + 8.0 / 3) / 3, 1e-6);
  EXPECT_NEAR(at(-1, 2, 1), std::log2(1 + 16.0 / 3) / 3, 1e-6);
  EXPECT_NEAR(log_relative_positions(8, 4)[0][0].item<double>(), -std::log2(1 + 56.0 / 3) / 3,
              1e-6);
  EXPECT_EQ(log_relative_positions(1, 1).abs().sum().item<double>(), 0);
}

TEST(WindowAttention, RecordsWeightsOverTheWholeGrid) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  for (auto& attention : both_kinds(kShifted)) {
    AttentionCapture capture;
    attention(torch::randn({2, 36, 8}));
    const auto& layer = capture.layers.at(0);
    EXPECT_EQ(layer.queries, (TokenGrid{6, 6}));
    EXPECT_EQ(layer.keys, (TokenGrid{6, 6}));
    ASSERT_EQ(layer.weights.sizes(), (std::vector<int64_t>{2, 2, 36, 36}));
    EXPECT_TRUE(torch::allclose(layer.weights.sum(-1), torch::ones({})));
    for (int64_t query = 0; query < 36; ++query)
      for (int64_t key = 0; key < 36; ++key) {
        const auto weight = layer.weights[1][0][query][key].item<double>();
        if (place_of(query, kShifted) == place_of(key, kShifted))
          EXPECT_GT(weight, 0) << query << " " << key;
        else
          EXPECT_LT(weight, 1e-30) << query << " " << key;
      }
  }
}

TEST(WindowAttention, IsTheSameFromTheWeightsOfTheWholeGrid) {
  torch::manual_seed(1);
  for (const auto& windows : {kShifted, WindowConfig{.side = 6, .window = 6}})
    for (auto& attention : both_kinds(windows)) {
      const auto x = torch::randn({2, 36, 8});
      const auto y = attention(x);
      AttentionCapture capture(/*in_graph=*/true);
      EXPECT_TRUE(torch::allclose(attention(x), y, 1e-4, 1e-5));
    }
}

TEST(WindowAttention, OfOneWindowIsBiasedAttentionOfAllTokens) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  TableWindowAttention attention(small_windows({.side = 3, .window = 3}));
  attention->relative_position_bias_table.normal_();
  const auto x = torch::randn({2, 9, 8});
  const auto parts = attention->qkv(x).view({2, 9, 3, 2, 4}).permute({2, 0, 3, 1, 4}).unbind();
  auto scores = parts[0].matmul(parts[1].transpose(2, 3)) / 2;  // sqrt(4)
  const auto index = relative_position_index(3).view({9, 9});
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t query = 0; query < 9; ++query)
      for (int64_t key = 0; key < 9; ++key)
        scores.select(1, head).select(1, query).select(1, key).add_(
            attention->relative_position_bias_table[index[query][key].item<int64_t>()][head]);
  const auto mixed = scores.softmax(-1).matmul(parts[2]).transpose(1, 2).flatten(2);
  EXPECT_TRUE(torch::allclose(attention(x), attention->proj(mixed), 1e-5, 1e-6));
}

TEST(WindowAttention, OfCosinesKnowsNoLengthsAndNoScaleAboveOneHundred) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  CosineWindowAttention attention(small_windows(kShifted), /*pretrained_window=*/0);
  const auto x = torch::randn({1, 36, 8});
  const auto y = attention(x);
  attention->qkv->weight.narrow(0, 0, 2 * 8).mul_(7);  // queries and keys; their biases are 0
  EXPECT_TRUE(torch::allclose(attention(x), y, 1e-4, 1e-6));
  attention->logit_scale.fill_(std::log(100.0));
  const auto largest = attention(x);
  EXPECT_FALSE(torch::allclose(largest, y, 1e-3, 1e-4));
  attention->logit_scale.fill_(6);
  EXPECT_TRUE(attention(x).equal(largest));
}

TEST(WindowAttention, GradientMatchesDifferences) {
  torch::manual_seed(1);
  for (auto& attention : both_kinds({.side = 4, .window = 2, .shift = 1})) {
    attention->to(torch::kDouble);
    const auto f = [&](const torch::Tensor& x) { return attention(x); };
    EXPECT_TRUE(test::gradients_match(f, torch::randn({1, 16, 8})));
  }
}

TEST(WindowAttention, HasNoBuffersToStore) {
  for (auto& attention : both_kinds(kShifted)) EXPECT_TRUE(attention->buffers().empty());
}

TEST(WindowAttention, RefusesTokensOfAnotherGrid) {
  auto attention = both_kinds(kShifted)[0];
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               attention(torch::randn({1, 25, 8}));
                             }),
                             "input 1x25x8 is not (B, 36, 8)"));
}

}  // namespace vitrine
