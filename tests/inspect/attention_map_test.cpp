#include "vitrine/inspect/attention_map.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

AttentionMap map_of(std::vector<double> multiples) {
  const auto n = static_cast<int64_t>(multiples.size());
  return {.multiples = {1, n, std::move(multiples)}, .tokens = n};
}

}  // namespace

TEST(AttentionMap, SaysWhenItIsCloseToUniform) {
  EXPECT_EQ(describe_attention_map(map_of({0.94, 1, 1.18})),
            "0.94–1.18 × uniform: close to uniform, not informative");
  EXPECT_EQ(describe_attention_map(map_of({0, 0.001, 14.25})), "0.00–14.2 × uniform");
  EXPECT_EQ(attention_range_text(map_of({0.001, 123.4})), "<0.01–123 ×");
  EXPECT_TRUE(near_uniform(map_of({0.8, 1.25})));
  EXPECT_FALSE(near_uniform(map_of({0.79, 1})));
  EXPECT_FALSE(near_uniform(map_of({1, 1.26})));
  EXPECT_TRUE(attention_map_within(map_of({0.5, 2}), kWeak));
  EXPECT_FALSE(attention_map_within(map_of({0.49, 2}), kWeak));
}

TEST(AttentionMap, HasTheSameScaleWhateverItsOwnRangeIs) {
  const auto flat = scaled_map(map_of({0.99, 1.01}), "", 50),
             steep = scaled_map(map_of({0.01, 4, 100}), "", 50);
  EXPECT_EQ(flat.low, steep.low);
  EXPECT_EQ(flat.high, steep.high);
  EXPECT_NEAR(flat.values.values[1], 0.0144, 1e-3);  // all but white
  EXPECT_EQ(steep.values.values, (std::vector<double>{-3, 2, 3}));
  EXPECT_EQ(attention_beyond_scale(map_of({0.01, 0.125, 4, 8, 100, 0})), 3);
}

TEST(AttentionMap, TheColourBarSaysWhereTheScaleEnds) {
  plot::Figure figure{.panels = {scaled_map(map_of({1, 2}), "", 50)}};
  add_attention_scale(figure);
  const auto svg = figure.render("svg");
  for (const auto* text : {"≤ 1/8", "≥ 8", "× uniform"})
    EXPECT_TRUE(test::contains(svg, text)) << text;
}

}  // namespace vitrine
