#include "vitrine/data/addition.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <numeric>
#include <set>

#include "tests/support/errors.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/image_batches.h"

namespace vitrine {
namespace {

DataConfig held_out_config(double held_out) {
  DataConfig c;
  c.dataset.choose("addition");
  c.validation = held_out;
  return c;
}

Batch whole(const BatchSource& source) {
  std::vector<int64_t> all(source.size());
  std::iota(all.begin(), all.end(), 0);
  return source.load(all, 0);
}

/// The pairs of a part as a * 100 + b, read from its digits.
std::set<int64_t> pairs(const BatchSource& source) {
  const auto powers = torch::tensor({1000, 100, 10, 1}, torch::kLong);
  const auto keys = whole(source).inputs.matmul(powers);
  return {keys.data_ptr<int64_t>(), keys.data_ptr<int64_t>() + keys.numel()};
}

}  // namespace

TEST(Addition, HoldsEveryPairWithItsSum) {
  const auto splits = open_data(held_out_config(0), 1);
  EXPECT_EQ(splits.task, Task::DigitSum);
  EXPECT_EQ(splits.train->size(), kAdditionPairs);
  EXPECT_EQ(pairs(*splits.train).size(), 10'000u);
  const auto batch = whole(*splits.test);
  const auto &digits = batch.inputs, &targets = batch.targets;
  const auto a = 10 * digits.select(1, 0) + digits.select(1, 1);
  const auto b = 10 * digits.select(1, 2) + digits.select(1, 3);
  const auto sum = targets.matmul(torch::tensor({100, 10, 1}, torch::kLong));
  EXPECT_TRUE(sum.equal(a + b));
}

TEST(Addition, HeldOutPairsAreNeverTrainedOn) {
  const auto splits = open_data(held_out_config(0.3), 1);
  const auto train = pairs(*splits.train), held_out = pairs(*splits.validation);
  EXPECT_EQ(train.size(), 7'000u);
  EXPECT_EQ(held_out.size(), 3'000u);
  for (const auto pair : held_out) EXPECT_FALSE(train.contains(pair));
  EXPECT_EQ(splits.test->size(), kAdditionPairs);
  const auto named = held_out_pairs(held_out_config(0.3), 1);
  EXPECT_EQ(std::set<int64_t>(named.begin(), named.end()), held_out);
  EXPECT_NE(pairs(*open_data(held_out_config(0.3), 2).validation), held_out);
}

TEST(Addition, IsRefusedWhereImagesAreWanted) {
  const auto message = test::error_of([] { open_image_splits(held_out_config(0), 1); });
  EXPECT_TRUE(test::contains(message, "data: 'addition' does not consist of images"));
}

}  // namespace vitrine
