#include "vitrine/core/attention_pattern.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

/// The tokens that token i sees among the first n.
std::vector<int64_t> seen(const AttentionPattern& pattern, int64_t i, int64_t n) {
  std::vector<int64_t> tokens;
  for (int64_t j = 0; j < n; ++j)
    if (pattern.allows(i, j)) tokens.push_back(j);
  return tokens;
}

using Tokens = std::vector<int64_t>;

}  // namespace

TEST(AttentionPattern, FollowsThePapersDefinitions) {
  using K = PatternKind;
  using F = PatternFactor;
  EXPECT_EQ(seen({.kind = K::Dense}, 3, 6), (Tokens{0, 1, 2, 3}));
  EXPECT_EQ(seen({.kind = K::Local, .stride = 2}, 5, 9), (Tokens{3, 4, 5}));
  EXPECT_EQ(seen({.kind = K::Strided, .stride = 3, .factor = F::First}, 7, 9),
            (Tokens{4, 5, 6, 7}));
  EXPECT_EQ(seen({.kind = K::Strided, .stride = 3, .factor = F::Second}, 7, 9), (Tokens{1, 4, 7}));
  EXPECT_EQ(seen({.kind = K::Strided, .stride = 3}, 7, 9), (Tokens{1, 4, 5, 6, 7}));
  const AttentionPattern fixed{.kind = K::Fixed, .stride = 4, .summary_tokens = 1};
  EXPECT_EQ(seen(fixed, 9, 12), (Tokens{3, 7, 8, 9}));
  auto further = fixed;
  further.offset = 1;
  further.factor = F::Second;
  EXPECT_EQ(seen(further, 11, 12), (Tokens{2, 6, 10}));
  EXPECT_EQ(seen({.kind = K::Longformer, .stride = 1, .globals = 2}, 6, 9), (Tokens{0, 1, 5, 6}));
}

// The masks of openai/sparse_attention: local is a band of `l` tokens with the token itself,
// strided is every l-th token before it.
TEST(AttentionPattern, AShortWindowIsThatOfOpenAisCode) {
  constexpr int64_t kTokens = 40;
  for (const int64_t l : {1, 2, 7, 40})
    for (int64_t i = 0; i < kTokens; ++i)
      for (int64_t j = 0; j < kTokens; ++j) {
        const bool local = j <= i && i - j <= l - 1, strided = j <= i && (i - j) % l == 0;
        AttentionPattern pattern{.kind = PatternKind::Local, .stride = l, .short_window = true};
        EXPECT_EQ(pattern.allows(i, j), local);
        pattern.kind = PatternKind::Strided;
        EXPECT_EQ(pattern.allows(i, j), local || strided);
        pattern.factor = PatternFactor::First;
        EXPECT_EQ(pattern.allows(i, j), local);
        pattern.factor = PatternFactor::Second;
        EXPECT_EQ(pattern.allows(i, j), strided);
      }
  EXPECT_EQ(
      seen({.kind = PatternKind::Local, .stride = 2, .causal = false, .short_window = true}, 4, 9),
      (Tokens{3, 4, 5}));
}

TEST(AttentionPattern, SeesBothWaysUnlessCausal) {
  EXPECT_EQ(seen({.kind = PatternKind::Local, .stride = 1, .causal = false}, 4, 9),
            (Tokens{3, 4, 5}));
  EXPECT_EQ(
      seen({.kind = PatternKind::Longformer, .stride = 1, .globals = 1, .causal = false}, 0, 4),
      (Tokens{0, 1, 2, 3}));
}

TEST(AttentionPattern, RefusesSizesThatDoNotFit) {
  const auto message = [](const AttentionPattern& pattern) {
    return test::error_of([&] { pattern.validate(); });
  };
  EXPECT_TRUE(test::contains(message({.stride = 0}), "stride 0 must be positive"));
  EXPECT_TRUE(test::contains(
      message({.kind = PatternKind::Fixed, .stride = 8, .summary_tokens = 5, .offset = 1}),
      "2 summaries of 5 tokens do not fit a block of 8"));
}

}  // namespace vitrine
