#include "vitrine/inspect/rollout.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

/// A layer over one grid: weights (H, T, T) of one image.
AttentionRecord layer(const torch::Tensor& weights, const TokenGrid& grid) {
  return {weights.unsqueeze(0), grid, grid};
}

AttentionRecord uniform(int64_t heads, const TokenGrid& grid) {
  const auto T = grid.tokens();
  return layer(torch::full({heads, T, T}, 1.0 / static_cast<double>(T), torch::kDouble), grid);
}

/// Every token looks at itself.
AttentionRecord still(const TokenGrid& grid) {
  return layer(torch::eye(grid.tokens(), torch::kDouble).unsqueeze(0), grid);
}

torch::Tensor values(std::initializer_list<double> numbers) {
  return torch::tensor(std::vector<double>(numbers), torch::kDouble);
}

/// The rollout of one image whose answer reads one token.
torch::Tensor seen_from(int64_t token, const std::vector<AttentionRecord>& layers) {
  auto readout = torch::zeros({1, layers.back().queries.tokens()}, torch::kDouble);
  readout[0][token] = 1;
  return attention_rollout(layers, readout)[0];
}

/// The rollout of one image whose answer reads the mean of all tokens.
torch::Tensor seen_from_all(const std::vector<AttentionRecord>& layers) {
  const auto T = layers.back().queries.tokens();
  return attention_rollout(layers, torch::full({1, T}, 1.0 / static_cast<double>(T)))[0];
}

}  // namespace

TEST(Rollout, OfUniformAttentionIsUniform) {
  // From the class token a share 1/T reaches each patch, and half of what is left stays per layer:
  // after n layers (1 - 2^-n) / T.
  for (int n = 1; n <= 4; ++n) {
    const std::vector<AttentionRecord> layers(n, uniform(3, {2, 3, 1}));
    const auto expected = torch::full({2, 3}, (1 - std::pow(0.5, n)) / 7, torch::kDouble);
    EXPECT_TRUE(torch::allclose(seen_from(0, layers), expected));
  }
}

TEST(Rollout, OfUniformAttentionWithoutClassTokenSharesEverythingEqually) {
  const std::vector<AttentionRecord> layers(2, uniform(2, {2, 2, 0}));
  EXPECT_TRUE(torch::allclose(seen_from_all(layers), torch::full({2, 2}, 0.25, torch::kDouble)));
}

TEST(Rollout, FollowsAttentionFromLayerToLayer) {
  // Layer 1: patch 2 (token 3) looks at patch 1 (token 2). Layer 2: the class token looks at
  // token 3. Through token 3 half of a half reaches token 2, the other half of it stays at token 3.
  const auto first = torch::eye(4, torch::kDouble).unsqueeze(0).clone();
  first[0][3] = torch::tensor({0, 0, 1, 0}, torch::kDouble);
  const auto second = torch::eye(4, torch::kDouble).unsqueeze(0).clone();
  second[0][0] = torch::tensor({0, 0, 0, 1}, torch::kDouble);
  const TokenGrid grid{1, 3, 1};
  EXPECT_TRUE(torch::allclose(seen_from(0, {layer(first, grid), layer(second, grid)})[0],
                              values({0.0, 0.25, 0.25})));
}

TEST(Rollout, AveragesTheHeads) {
  const auto eye = torch::eye(3, torch::kDouble);
  auto away = torch::zeros({3, 3}, torch::kDouble);
  away.index_put_({torch::indexing::Slice(), 2}, 1);
  // Mean row of the class token: (1/2, 0, 1/2); with the residual (3/4, 0, 1/4).
  EXPECT_TRUE(torch::allclose(seen_from(0, {layer(torch::stack({eye, away}), {1, 2, 1})})[0],
                              values({0.0, 0.25})));
}

TEST(Rollout, WeighsTheTokensAsTheAnswerReadsThem) {
  const auto readout = torch::tensor({{0.1, 0.2, 0.3, 0.4}, {1.0, 0.0, 0.0, 0.0}}, torch::kDouble);
  auto record = still({2, 2, 0});
  record.weights = record.weights.expand({2, 1, 4, 4});  // two images
  EXPECT_TRUE(
      torch::allclose(attention_rollout({record, record}, readout), readout.view({2, 2, 2})));
}

TEST(Rollout, SpreadsAReducedKeyOverTheQueriesThatItCovers) {
  // 2 x 4 queries, keys of 2 x 2 cells each: all look at the right key, half of which is their own.
  const TokenGrid queries{2, 4, 0}, keys{1, 2, 0};
  const auto weights = values({0, 1}).expand({1, 1, 8, 2});
  const auto map = seen_from_all({{weights, queries, keys}});
  const double left = 0.5 / 8, right = 0.5 / 8 + 0.5 / 4;
  EXPECT_TRUE(torch::allclose(map, values({left, left, right, right}).expand({2, 4})));
}

TEST(Rollout, PoolsWhereALaterLayerIsCoarser) {
  const TokenGrid fine{2, 4, 0}, coarse{1, 2, 0};
  const auto mixing = torch::full({1, 2, 2}, 0.5, torch::kDouble);
  const auto map = seen_from(0, {still(fine), layer(mixing, coarse)});
  const double left = 0.75 / 4, right = 0.25 / 4;  // four cells each
  EXPECT_TRUE(torch::allclose(map, values({left, left, right, right}).expand({2, 4})));
}

TEST(Rollout, PoolsCellsInParts) {
  const auto map = seen_from(0, {still({1, 3, 0}), still({1, 2, 0})});
  EXPECT_TRUE(torch::allclose(map[0], values({2.0 / 3, 1.0 / 3, 0.0})));
}

TEST(Rollout, KeepsTheClassTokenWhereGridsChange) {
  // Its keys are itself and one cell for all four patches.
  const TokenGrid queries{2, 2, 1}, keys{1, 1, 1};
  const auto weights = values({0.2, 0.8}).expand({1, 1, 5, 2});
  const auto map = seen_from(0, {{weights, queries, keys}, still(keys)});
  EXPECT_TRUE(torch::allclose(map, torch::full({2, 2}, 0.5 * 0.8 / 4, torch::kDouble)));
}

TEST(Rollout, RejectsWhatDoesNotFitTheGrids) {
  const AttentionRecord wrong{torch::ones({1, 1, 5, 5}), {2, 3, 1}, {2, 3, 1}};
  EXPECT_TRUE(test::contains(test::error_of([&] { seen_from(0, {wrong}); }),
                             "1x1x5x5, expected batch x heads x 7 x 7"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               attention_rollout({still({2, 2, 0})}, torch::ones({1, 3}));
                             }),
                             "the answer reads 1x3 tokens, the last layer gives 4"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               attention_rollout({}, torch::ones({1, 1}));
                             }),
                             "no attention weights"));
}

TEST(HeadMaps, ShowTheClassTokensRow) {
  const auto weights = torch::arange(2 * 5 * 5, torch::kDouble).view({2, 5, 5});
  const auto maps = head_maps(layer(weights, {2, 2, 1}))[0];
  EXPECT_TRUE(torch::equal(maps[0], torch::tensor({{1, 2}, {3, 4}}, torch::kDouble)));
  EXPECT_TRUE(torch::equal(maps[1], torch::tensor({{26, 27}, {28, 29}}, torch::kDouble)));
}

TEST(HeadMaps, ShowTheMeanOverTokensWithoutClassToken) {
  const auto weights = torch::tensor({{1.0, 3.0}, {5.0, 7.0}}, torch::kDouble).unsqueeze(0);
  EXPECT_TRUE(torch::equal(head_maps(layer(weights, {1, 2, 0}))[0][0][0], values({3.0, 5.0})));
}

TEST(HeadMaps, LieOnTheGridOfTheKeys) {
  const auto weights = values({0.1, 0.9}).expand({1, 1, 8, 2});
  const auto maps = head_maps({weights, {2, 4, 0}, {1, 2, 0}});
  EXPECT_TRUE(torch::allclose(maps[0][0], values({0.1, 0.9}).view({1, 2})));
}

TEST(HeadEntropy, IsOneForUniformAttentionAndZeroForASingleKey) {
  EXPECT_NEAR(head_entropy(uniform(2, {2, 2, 1}))[0][1].item<double>(), 1, 1e-9);
  EXPECT_NEAR(head_entropy(still({2, 2, 0}))[0][0].item<double>(), 0, 1e-9);
  EXPECT_NEAR(head_entropy(still({1, 1, 0}))[0][0].item<double>(), 1, 1e-9);  // one key is all keys
}

TEST(HeadEntropy, IsThatOfTheClassTokenOrTheMeanOverTheQueries) {
  auto weights = torch::eye(4, torch::kDouble).unsqueeze(0).clone();
  weights[0][0] = values({0.5, 0.5, 0, 0});
  EXPECT_NEAR(head_entropy(layer(weights, {1, 3, 1}))[0][0].item<double>(), 0.5, 1e-9);
  EXPECT_NEAR(head_entropy(layer(weights, {1, 4, 0}))[0][0].item<double>(), 0.125, 1e-9);
}

TEST(PositionSimilarity, IsTheCosineBetweenPatches) {
  const auto table =
      torch::tensor({{9.0, 9.0}, {2.0, 0.0}, {0.0, 3.0}, {1.0, 1.0}}, torch::kDouble).unsqueeze(0);
  const double half = std::sqrt(0.5);
  const auto expected =
      torch::tensor({{1.0, 0.0, half}, {0.0, 1.0, half}, {half, half, 1.0}}, torch::kDouble);
  EXPECT_TRUE(torch::allclose(position_similarity(table, {1, 3, 1}), expected));
}

TEST(PositionSimilarity, RejectsATableThatDoesNotFitTheGrid) {
  EXPECT_TRUE(test::contains(test::error_of([] {
                               position_similarity(torch::zeros({1, 4, 2}), {2, 2, 1});
                             }),
                             "1x4x2, expected 1 x 5 x width"));
}

}  // namespace vitrine
