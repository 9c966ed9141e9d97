#include "vitrine/ops/sparse_attention.h"

#include <hwy/targets.h>

#include <numeric>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "vitrine/kernels/attention_plan.h"

namespace vitrine {
namespace {

/// Every kind and half, both ways, with sizes that are multiples of nothing.
std::vector<AttentionPattern> all_patterns() {
  std::vector<AttentionPattern> patterns;
  for (const auto& [name, kind] : pattern_kind_names())
    for (const auto& [factor_name, factor] : pattern_factor_names())
      for (const bool causal : {true, false})
        for (const int64_t stride : {3, 16, 50})
          patterns.push_back({.kind = kind,
                              .stride = stride,
                              .summary_tokens = stride / 3,
                              .offset = stride % 2,
                              .globals = 5,
                              .factor = factor,
                              .causal = causal});
  return patterns;
}

std::string text_of(const AttentionPattern& p) {
  return fmt::format("kind {} factor {} stride {} causal {}", static_cast<int>(p.kind),
                     static_cast<int>(p.factor), p.stride, p.causal);
}

struct Inputs {
  torch::Tensor q, k, v;

  Inputs(int64_t B, int64_t T, int64_t H, int64_t D, int64_t E, torch::Dtype type = torch::kFloat)
      : q(torch::randn({B, T, H, D}, type)),
        k(torch::randn({B, T, H, D}, type)),
        v(torch::randn({B, T, H, E}, type)) {}
};

using Attend = torch::Tensor (*)(const torch::Tensor& q, const torch::Tensor& k,
                                 const torch::Tensor& v, const AttentionPattern& pattern,
                                 double dropout);

/// The same values and gradients.
void expect_equal(Attend one, Attend other, const AttentionPattern& pattern) {
  Inputs x(2, 150, 3, 7, 5);
  for (auto* t : {&x.q, &x.k, &x.v}) t->requires_grad_(true);
  const auto ours = one(x.q, x.k, x.v, pattern, /*dropout=*/0);
  const auto theirs = other(x.q, x.k, x.v, pattern, /*dropout=*/0);
  ASSERT_TRUE(torch::allclose(ours, theirs, 1e-4, 1e-5)) << text_of(pattern);
  const auto weight = torch::randn_like(ours);
  const auto a = torch::autograd::grad({(ours * weight).sum()}, {x.q, x.k, x.v});
  const auto b = torch::autograd::grad({(theirs * weight).sum()}, {x.q, x.k, x.v});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(torch::allclose(a[i], b[i], 1e-3, 1e-5)) << text_of(pattern) << " input " << i;
}

}  // namespace

TEST(AttentionPlan, HoldsEveryAllowedPairOnce) {
  for (const auto& pattern : all_patterns()) {
    for (const int64_t n : {1, 37, 150}) {
      const auto plan = kernels::attention_plan(pattern, n);
      std::vector<int> times(n * n);
      for (const auto& pass : plan->passes)
        for (const auto& group : pass)
          for (const auto& tile : group.tiles)
            for (int64_t r = 0; r < group.queries.count; ++r) {
              const int64_t low = tile.dense ? 0 : tile.key_begin[r];
              const int64_t high = tile.dense ? tile.keys.count : tile.key_end[r];
              for (int64_t k = low; k < high; ++k) ++times[group.queries[r] * n + tile.keys[k]];
            }
      EXPECT_EQ(plan->pairs, std::accumulate(times.begin(), times.end(), int64_t{0}));
      int64_t wrong = 0;
      for (int64_t i = 0; i < n * n; ++i) wrong += times[i] != pattern.allows(i / n, i % n);
      ASSERT_EQ(wrong, 0) << text_of(pattern) << " n " << n;
    }
  }
}

TEST(AttentionPlan, GrowsAsTheRootOfTheLengthSquared) {
  const auto cells = [](int64_t n, int64_t stride) {
    return static_cast<double>(
        kernels::attention_plan({.kind = PatternKind::Strided, .stride = stride}, n)->cells);
  };
  const double exponent = std::log(cells(49152, 224) / cells(3072, 56)) / std::log(16.0);
  EXPECT_LT(exponent, 1.55);
}

TEST(SparseAttention, EqualsTheMaskedDenseForm) {
  torch::manual_seed(1);
  for (const auto& pattern : all_patterns())
    expect_equal(sparse_attention, sparse_attention_reference, pattern);
}

TEST(SparseAttention, EqualsTheMaskedDenseFormWithAShortWindow) {
  torch::manual_seed(1);
  expect_equal(sparse_attention, sparse_attention_reference,
               {.kind = PatternKind::Strided, .stride = 16, .short_window = true});
}

TEST(SparseAttention, EqualsTheMaskedDenseFormWithShortVectorsToo) {
  torch::manual_seed(1);
  hwy::DisableTargets((HWY_AVX2 << 1) - 1);  // leaves those that can load whole vectors only
  for (const auto& pattern : all_patterns())
    expect_equal(sparse_attention, sparse_attention_reference, pattern);
  hwy::DisableTargets(0);
}

TEST(SparseAttention, OnBlocksEqualsTheMaskedDenseForm) {
  torch::manual_seed(1);
  for (const auto& pattern : all_patterns())
    expect_equal(blockwise_sparse_attention, sparse_attention_reference, pattern);
}

TEST(SparseAttention, OnBlocksDropsTheShareOfWeightsThatWasAsked) {
  torch::manual_seed(1);
  const auto equal = torch::zeros({1, 200, 1, 1}), values = torch::ones({1, 200, 1, 1});
  const auto out =
      blockwise_sparse_attention(equal, equal, values, {.causal = false}, /*dropout=*/0.25);
  EXPECT_NEAR(out.mean().item<double>(), 1, 0.02);
  EXPECT_GT(out.std().item<double>(), 0.01);
}

TEST(SparseAttention, GradientsEqualDifferencesWithDropout) {
  torch::manual_seed(1);
  const AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 4};
  const Inputs fixed(1, 13, 2, 3, 2, torch::kDouble);
  const auto run = [&](const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    torch::manual_seed(5);  // the same dropout each time
    return sparse_attention(q, k, v, pattern, /*dropout=*/0.3);
  };
  EXPECT_TRUE(
      test::gradients_match([&](const auto& q) { return run(q, fixed.k, fixed.v); }, fixed.q));
  EXPECT_TRUE(
      test::gradients_match([&](const auto& k) { return run(fixed.q, k, fixed.v); }, fixed.k));
  EXPECT_TRUE(
      test::gradients_match([&](const auto& v) { return run(fixed.q, fixed.k, v); }, fixed.v));
}

TEST(SparseAttention, DropsTheShareOfWeightsThatWasAsked) {
  torch::manual_seed(1);
  const int64_t n = 200;
  const auto equal = torch::zeros({1, n, 1, 1});
  const auto values = torch::ones({1, n, 1, 1});
  const auto out = sparse_attention(equal, equal, values, {.causal = false}, /*dropout=*/0.25);
  EXPECT_NEAR(out.mean().item<double>(), 1, 0.02);
  EXPECT_GT(out.std().item<double>(), 0.01);
}

TEST(SparseAttention, TakesViewsAndDoesNotDependOnTheThreads) {
  torch::manual_seed(1);
  const auto packed = torch::randn({1, 90, 2, 24}).requires_grad_(true);
  const AttentionPattern pattern{.kind = PatternKind::Fixed, .stride = 16, .summary_tokens = 4};
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    return sparse_attention(packed.narrow(3, 0, 8), packed.narrow(3, 8, 8), packed.narrow(3, 16, 8),
                            pattern);
  };
  const auto one = run(1), two = run(2);
  EXPECT_TRUE(one.equal(two));
  const auto copied =
      sparse_attention(packed.narrow(3, 0, 8).contiguous(), packed.narrow(3, 8, 8).contiguous(),
                       packed.narrow(3, 16, 8).contiguous(), pattern);
  EXPECT_TRUE(torch::allclose(one, copied, 1e-5, 1e-6));
}

TEST(SparseAttention, RefusesShapesThatDoNotFit) {
  const Inputs x(1, 8, 2, 4, 4);
  EXPECT_TRUE(
      test::contains(test::error_of([&] { sparse_attention(x.q, x.k.narrow(1, 0, 7), x.v, {}); }),
                     "sparse_attention: q 1x8x2x4, k 1x7x2x4 and v 1x8x2x4 are not"));
}

}  // namespace vitrine
