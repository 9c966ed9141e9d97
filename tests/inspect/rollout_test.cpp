#include "vitrine/inspect/rollout.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

torch::Tensor uniform(int64_t heads, int64_t tokens) {
  return torch::full({heads, tokens, tokens}, 1.0 / static_cast<double>(tokens), torch::kDouble);
}

}  // namespace

TEST(Rollout, OfUniformAttentionIsUniform) {
  // From the class token a share 1/T reaches each patch, and half of what is left stays per layer:
  // after n layers (1 - 2^-n) / T.
  const TokenGrid grid{2, 3, 1};
  for (int n = 1; n <= 4; ++n) {
    const std::vector<torch::Tensor> layers(n, uniform(3, 7));
    const auto expected = torch::full({2, 3}, (1 - std::pow(0.5, n)) / 7, torch::kDouble);
    EXPECT_TRUE(torch::allclose(attention_rollout(layers, grid), expected));
  }
}

TEST(Rollout, OfUniformAttentionWithoutClassTokenSharesEverythingEqually) {
  const std::vector<torch::Tensor> layers(2, uniform(2, 4));
  EXPECT_TRUE(torch::allclose(attention_rollout(layers, {2, 2, 0}),
                              torch::full({2, 2}, 0.25, torch::kDouble)));
}

TEST(Rollout, FollowsAttentionFromLayerToLayer) {
  // Layer 1: patch 2 (token 3) looks at patch 1 (token 2). Layer 2: the class token looks at
  // token 3. Through token 3 half of a half reaches token 2, the other half of it stays at token 3.
  const auto first = torch::eye(4, torch::kDouble).unsqueeze(0).clone();
  first[0][3] = torch::tensor({0, 0, 1, 0}, torch::kDouble);
  const auto second = torch::eye(4, torch::kDouble).unsqueeze(0).clone();
  second[0][0] = torch::tensor({0, 0, 0, 1}, torch::kDouble);
  const auto expected = torch::tensor({{0.0, 0.25, 0.25}}, torch::kDouble);
  EXPECT_TRUE(torch::allclose(attention_rollout({first, second}, {1, 3, 1}), expected));
}

TEST(Rollout, AveragesTheHeads) {
  const auto eye = torch::eye(3, torch::kDouble);
  auto away = torch::zeros({3, 3}, torch::kDouble);
  away.index_put_({torch::indexing::Slice(), 2}, 1);
  const auto both = torch::stack({eye, away});
  // Mean row of the class token: (1/2, 0, 1/2); with the residual (3/4, 0, 1/4).
  EXPECT_TRUE(torch::allclose(attention_rollout({both}, {1, 2, 1}),
                              torch::tensor({{0.0, 0.25}}, torch::kDouble)));
}

TEST(Rollout, RejectsWeightsThatDoNotFitTheGrid) {
  const auto message = test::error_of([] { attention_rollout({uniform(1, 5)}, {2, 3, 1}); });
  EXPECT_TRUE(test::contains(message, "1x5x5, expected heads x 7 x 7"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               attention_rollout({}, {2, 2, 0});
                             }),
                             "no attention weights"));
}

TEST(HeadMaps, ShowTheClassTokensRow) {
  const auto weights = torch::arange(2 * 5 * 5, torch::kDouble).view({2, 5, 5});
  const auto maps = head_maps(weights, {2, 2, 1});
  EXPECT_TRUE(torch::equal(maps[0], torch::tensor({{1, 2}, {3, 4}}, torch::kDouble)));
  EXPECT_TRUE(torch::equal(maps[1], torch::tensor({{26, 27}, {28, 29}}, torch::kDouble)));
}

TEST(HeadMaps, ShowTheMeanOverTokensWithoutClassToken) {
  const auto weights = torch::tensor({{1.0, 3.0}, {5.0, 7.0}}, torch::kDouble).unsqueeze(0);
  EXPECT_TRUE(
      torch::equal(head_maps(weights, {1, 2, 0})[0], torch::tensor({{3.0, 5.0}}, torch::kDouble)));
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
