#include "vitrine/ops/bf16_sparse_attention.h"

#include <ATen/autocast_mode.h>

#include "tests/support/errors.h"
#include "tests/support/instruction_sets.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/kernels/small_bf16_product.h"
#include "vitrine/ops/sparse_attention.h"

namespace vitrine {
namespace {

// bf16 keeps 8 bits; q and k, weights and values, and the gradients of both are rounded.
constexpr double kTolerance = 0.02;

struct AttentionSizes {
  int64_t B, T, H, D, E;
};

struct Bf16Inputs {
  torch::Tensor q, k, v, weight;

  explicit Bf16Inputs(const AttentionSizes& s)
      : q(torch::randn({s.B, s.T, s.H, s.D}).requires_grad_(true)),
        k(torch::randn({s.B, s.T, s.H, s.D}).requires_grad_(true)),
        v(torch::randn({s.B, s.T, s.H, s.E}).requires_grad_(true)),
        weight(torch::randn({s.B, s.T, s.H * s.E})) {}

  /// The output and the gradients of q, k and v.
  template <typename Attend>
  std::vector<torch::Tensor> results(const Attend& attend, torch::Dtype type) const {
    const auto out = attend(q.to(type), k.to(type), v.to(type));
    auto all = torch::autograd::grad({out}, {q, k, v}, {weight.to(type)});
    all.insert(all.begin(), out.detach().to(torch::kFloat));
    return all;
  }
};

/// Relative to the size of the reference, in the mean and at the worst place.
void expect_close(const std::vector<torch::Tensor>& ours, const std::vector<torch::Tensor>& exact,
                  const std::string& what) {
  for (size_t i = 0; i < exact.size(); ++i) {
    const auto error = (ours[i] - exact[i]).abs();
    const double size = exact[i].square().mean().sqrt().item<double>();
    EXPECT_LE(error.square().mean().sqrt().item<double>(), kTolerance * size) << what << ' ' << i;
    EXPECT_LE(error.max().item<double>(), 10 * kTolerance * size) << what << ' ' << i;
  }
}

std::vector<AttentionPattern> some_patterns() {
  std::vector<AttentionPattern> all;
  for (const auto& [name, kind] : pattern_kind_names())
    for (const bool causal : {true, false})
      for (const int64_t stride : {3, 50})
        all.push_back({.kind = kind,
                       .stride = stride,
                       .summary_tokens = stride / 3,
                       .globals = 5,
                       .causal = causal});
  return all;
}

class Bf16SparseAttentionOn : public test::EveryInstructionSet {};

}  // namespace

TEST_P(Bf16SparseAttentionOn, EqualsTheMaskedDenseFormInDouble) {
  for (const auto& sizes : {AttentionSizes{2, 37, 3, 7, 5}, AttentionSizes{1, 150, 2, 16, 33},
                            AttentionSizes{1, 1, 1, 1, 1}})
    for (const auto& pattern : some_patterns()) {
      const Bf16Inputs x(sizes);
      const auto ours =
          x.results([&](const auto& q, const auto& k,
                        const auto& v) { return bf16_sparse_attention(q, k, v, pattern); },
                    torch::kFloat);
      const auto exact =
          x.results([&](const auto& q, const auto& k,
                        const auto& v) { return sparse_attention_reference(q, k, v, pattern); },
                    torch::kDouble);
      if (sizes.T == 1)
        EXPECT_TRUE(torch::allclose(ours[0], exact[0], /*rtol=*/1e-2));
      else
        expect_close(
            ours, exact,
            fmt::format("kind {} stride {} causal {} tokens {}", static_cast<int>(pattern.kind),
                        pattern.stride, pattern.causal, sizes.T));
    }
}

INSTANTIATE_TEST_SUITE_P(, Bf16SparseAttentionOn, test::instruction_sets());

class SmallBf16ProductOn : public test::EveryInstructionSet {};

TEST_P(SmallBf16ProductOn, IsTheProductOfWhatTheWordsHold) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1}, {7, 37, 5}, {13, 64, 9}}) {
    const auto halves = [](const torch::Tensor& x) { return x.to(torch::kBFloat16).contiguous(); };
    const auto a = halves(torch::randn({m, k, 2})), b = halves(torch::randn({k, n, 2}));
    const auto before = torch::randn({m, n});
    auto c = before.clone();
    const auto words = [](const torch::Tensor& x) {
      return static_cast<const int32_t*>(x.data_ptr());
    };
    kernels::small_bf16_product(m, n, k, 0.5f, {words(a), k, 1}, {words(b), n},
                                {c.data_ptr<float>(), n}, /*add=*/true);
    const auto exact =
        0.5 * torch::einsum("mkh,knh->mn", {a.to(torch::kDouble), b.to(torch::kDouble)});
    EXPECT_TRUE(torch::allclose(c.to(torch::kDouble), before + exact, 1e-4, 1e-5));
  }
}

INSTANTIATE_TEST_SUITE_P(, SmallBf16ProductOn, test::instruction_sets());

TEST(Bf16SparseAttention, DropsTheSameWeightsAsInFp32) {
  torch::manual_seed(1);
  const Bf16Inputs x({1, 70, 2, 8, 6});
  const AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 9};
  const auto with = [&](auto attend) {
    return x.results(
        [&](const auto& q, const auto& k, const auto& v) {
          torch::manual_seed(5);
          return attend(q, k, v, pattern, /*dropout=*/0.3);
        },
        torch::kFloat);
  };
  expect_close(with(bf16_sparse_attention), with(sparse_attention), "dropout");
}

TEST(Bf16SparseAttention, IsTakenUnderAutocastWhereThereAreInstructions) {
  torch::manual_seed(1);
  const Bf16Inputs x({1, 50, 2, 8, 6});
  const AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 7};
  const auto plain = sparse_attention(x.q, x.k, x.v, pattern);
  at::autocast::set_cpu_enabled(true);
  const auto cast = sparse_attention(x.q, x.k, x.v, pattern);
  at::autocast::set_cpu_enabled(false);
  const auto expected =
      kernels::has_bf16_products() ? bf16_sparse_attention(x.q, x.k, x.v, pattern) : plain;
  EXPECT_TRUE(cast.equal(expected));
}

TEST(Bf16SparseAttention, TakesViewsAndDoesNotDependOnTheThreads) {
  torch::manual_seed(1);
  const auto packed = torch::randn({2, 300, 3 * 24});
  const auto part = [&](int64_t i) { return packed.narrow(2, 24 * i, 24).unflatten(2, {3, 8}); };
  const AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 17};
  const auto threads = torch::get_num_threads();
  const auto whole = bf16_sparse_attention(part(0).contiguous(), part(1).contiguous(),
                                           part(2).contiguous(), pattern);
  torch::set_num_threads(1);
  EXPECT_TRUE(bf16_sparse_attention(part(0), part(1), part(2), pattern).equal(whole));
  torch::set_num_threads(threads);
}

TEST(Bf16SparseAttention, RefusesWhatDoesNotFit) {
  const auto x = torch::randn({1, 4, 2, 6});
  EXPECT_THROW(bf16_sparse_attention(x, torch::randn({1, 4, 2, 5}), x, {}), Error);
  EXPECT_THROW(bf16_sparse_attention(x, x, torch::randn({1, 5, 2, 6}), {}), Error);
  EXPECT_THROW(bf16_sparse_attention(x, x, x, {}, /*dropout=*/1), Error);
  EXPECT_THROW(bf16_sparse_attention(x.to(torch::kDouble), x, x, {}), Error);
}

}  // namespace vitrine
