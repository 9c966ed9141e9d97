// What the labs claim to show, as numbers that must hold for any seed.

#include <gtest/gtest.h>

#include <cmath>

#include "vitrine/labs/basics/numbers.h"
#include "vitrine/labs/block/numbers.h"
#include "vitrine/labs/block/residuals_norms.h"
#include "vitrine/labs/positions/numbers.h"

namespace vitrine::labs {
namespace {

constexpr uint64_t kSeeds[] = {1, 7};

}  // namespace

TEST(LabNumbers, HandComputedAttentionIsTheLibrarys) {
  const auto steps = basics::attention_step_by_step();
  for (const double sum : steps.row_sums) EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_LT(steps.weights_difference, 1e-6);
  EXPECT_LT(steps.output_difference, 1e-6);
}

TEST(LabNumbers, ScalingKeepsTheSpreadOfScores) {
  for (const auto seed : kSeeds) {
    const auto points = basics::scaling_over_widths({8, 512}, seed, /*draws=*/400);
    EXPECT_GT(points[1].score_deviation, 4 * points[0].score_deviation);
    EXPECT_LT(points[1].raw.entropy, points[0].raw.entropy);
    EXPECT_NEAR(points[1].scaled.entropy, points[0].scaled.entropy, 0.1);
    EXPECT_GT(points[1].scaled.gradient, 2 * points[1].raw.gradient);
  }
}

TEST(LabNumbers, OnlyPositionsTellTheOrderOfWords) {
  for (const auto seed : kSeeds) {
    for (const auto& effect : positions::order_effects(/*words=*/3, seed)) {
      const bool blind = effect.kind == "none" || effect.kind == "linear_pre";
      if (blind)
        EXPECT_LT(effect.word_change, 1e-6) << effect.kind;
      else
        EXPECT_GT(effect.word_change, 1e-3) << effect.kind;
    }
  }
}

TEST(LabNumbers, AShiftOfSinusoidalPositionsIsARotation) {
  for (const auto& fit : positions::shift_fits({1, 5, 10}, /*seed=*/1)) {
    EXPECT_LT(fit.rotation, 1e-5) << fit.shift;
    EXPECT_LT(fit.sinusoidal, 1e-3) << fit.shift;
    EXPECT_GT(fit.learned, 0.5) << fit.shift;
  }
}

TEST(LabNumbers, TheBlocksNormsLeaveMeanZeroAndVarianceOne) {
  for (const auto seed : kSeeds) {
    const auto trace = block::trace_block(/*words=*/6, seed);
    ASSERT_EQ(trace.steps.size(), 7u);
    EXPECT_LT(trace.difference, 1e-5);
    for (const auto& step : trace.steps) {
      if (step.name != "norm1" && step.name != "norm2") continue;
      EXPECT_NEAR(step.mean, 0, 1e-5);
      EXPECT_NEAR(step.least_variance, 1, 1e-3);
      EXPECT_NEAR(step.greatest_variance, 1, 1e-3);
    }
  }
}

TEST(LabNumbers, OnlyBatchNormDependsOnTheNeighbours) {
  const auto norms = block::compare_norms({1, 4, 32}, /*draws=*/20, /*seed=*/1);
  EXPECT_TRUE(std::isnan(norms[0].batch_change));
  EXPECT_GT(norms[1].batch_change, norms[2].batch_change);
  for (const auto& norm : norms) EXPECT_LT(norm.layer_error, 1e-5);
  EXPECT_LT(norms[1].layer_change, 1e-5);
}

}  // namespace vitrine::labs
