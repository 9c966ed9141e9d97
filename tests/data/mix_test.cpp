#include "vitrine/data/mix.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

/// Three images of 2 channels and 4 x 4, each filled with its number, of classes 0, 1, 2.
Batch numbered() {
  auto inputs = torch::arange(3, torch::kFloat).reshape({3, 1, 1, 1}).expand({3, 2, 4, 4});
  return {inputs.contiguous(), one_hot_targets(torch::arange(3), 3)};
}

}  // namespace

TEST(Mixup, TakesItsShareOfEachExampleAndTheRestOfTheOneBefore) {
  auto batch = numbered();
  const auto inputs = batch.inputs.clone(), targets = batch.targets.clone();
  mixup(batch, 0.75);
  EXPECT_TRUE(torch::equal(batch.inputs, inputs * 0.75 + inputs.roll(1, 0) * 0.25));
  EXPECT_TRUE(torch::equal(batch.targets, targets * 0.75 + targets.roll(1, 0) * 0.25));
}

TEST(Cutmix, PastesTheRectangleOfTheExampleBefore) {
  auto batch = numbered();
  const auto targets = batch.targets.clone();
  auto expected = batch.inputs.clone();
  using torch::indexing::Slice;
  const auto where = {torch::indexing::TensorIndex(Slice()), torch::indexing::TensorIndex(Slice()),
                      torch::indexing::TensorIndex(Slice(1, 3)),
                      torch::indexing::TensorIndex(Slice(0, 3))};
  expected.index_put_(where, batch.inputs.roll(1, 0).index(where));
  cutmix(batch, {.left = 0, .top = 1, .width = 3, .height = 2});
  EXPECT_TRUE(torch::equal(batch.inputs, expected));
  EXPECT_TRUE(torch::allclose(batch.targets, targets * 0.625 + targets.roll(1, 0) * 0.375));
}

TEST(Cutmix, TheRectangleIsCutAtTheEdges) {
  const auto middle = cutmix_rectangle(32, 32, /*kept=*/0.75, 16, 16);
  EXPECT_EQ(middle.width * middle.height, 256);  // a quarter of 32 x 32
  const auto corner = cutmix_rectangle(32, 32, 0.75, 0, 31);
  EXPECT_EQ(corner.left, 0);
  EXPECT_EQ(corner.width, 8);
  EXPECT_EQ(corner.top, 23);
  EXPECT_EQ(corner.height, 9);
}

TEST(OneHotShares, PutsOneAtTheClass) {
  const auto shares = one_hot_targets(torch::tensor({2, 0}, torch::kInt64), 3);
  EXPECT_TRUE(torch::equal(shares, torch::tensor({{0.f, 0.f, 1.f}, {1.f, 0.f, 0.f}})));
}

}  // namespace vitrine
