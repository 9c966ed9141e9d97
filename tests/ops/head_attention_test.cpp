#include <fmt/format.h>
#include <torch/torch.h>

#include "tests/support/instruction_sets.h"
#include "vitrine/kernels/attention.h"

namespace vitrine {
namespace {

using kernels::Factors;
using kernels::HeadShape;

/// A head and what comes of it, in one type of numbers.
template <typename T>
struct HeadResults {
  torch::Tensor out, dq, dk, dv, d_bias;
};

struct HeadInputs {
  explicit HeadInputs(const HeadShape& s)
      : shape(s),
        q(torch::randn({s.queries, s.width})),
        k(torch::randn({s.keys, s.width})),
        v(torch::randn({s.keys, s.value_width})),
        d_out(torch::randn({s.queries, s.value_width})),
        bias(torch::randn({s.queries, s.keys})),
        mask(torch::rand({s.queries, s.keys}).lt(0.2).to(torch::kFloat) * -100) {}

  const HeadShape shape;
  torch::Tensor q, k, v, d_out, bias, mask;
  bool biased = false, causal = false;
  float dropout = 0;
};

template <typename T>
HeadResults<T> results(const HeadInputs& in, Factors factors) {
  const auto type = c10::CppTypeToScalarType<T>::value;
  const auto to = [&](const torch::Tensor& t) { return t.to(type).contiguous(); };
  const auto q = to(in.q), k = to(in.k), v = to(in.v), d_out = to(in.d_out), bias = to(in.bias),
             mask = to(in.mask);
  const auto numbers = [](const torch::Tensor& t) { return t.data_ptr<T>(); };
  const auto rows = [&](const torch::Tensor& t) {
    return kernels::Rows<const T>{numbers(t), t.size(1)};
  };
  const auto& s = in.shape;
  const kernels::Head<T> head{.q = rows(q),
                              .k = rows(k),
                              .v = rows(v),
                              .shape = s,
                              .scale = T(0.3),
                              .dropout = {in.dropout, 7, 11},
                              .bias = in.biased ? numbers(bias) : nullptr,
                              .mask = in.biased ? numbers(mask) : nullptr,
                              .causal = in.causal};
  const auto attention = kernels::head_attention<T>(s, factors);
  const auto kept = torch::empty({s.queries, attention->kept_per_query()}, type);
  HeadResults<T> r{torch::empty({s.queries, s.value_width}, type), torch::empty_like(q),
                   torch::empty_like(k), torch::empty_like(v), torch::zeros_like(bias)};
  const auto written = [&](const torch::Tensor& t) {
    return kernels::Rows<T>{numbers(t), t.size(1)};
  };
  attention->forward(head, numbers(kept), written(r.out));
  attention->backward(head, numbers(kept), rows(d_out),
                      {written(r.dq), written(r.dk), written(r.dv), numbers(r.d_bias)});
  const auto again = torch::empty_like(r.out);
  attention->forward(head, nullptr, written(again));
  EXPECT_TRUE(again.equal(r.out)) << "with nothing kept";
  return r;
}

/// The largest difference relative to the largest number.
double relative(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a.to(torch::kDouble) - b).abs().max() / b.abs().max()).item<double>();
}

void expect_near(const HeadResults<float>& a, const HeadResults<double>& b, double tolerance) {
  EXPECT_LT(relative(a.out, b.out), tolerance);
  EXPECT_LT(relative(a.dq, b.dq), tolerance);
  EXPECT_LT(relative(a.dk, b.dk), tolerance);
  EXPECT_LT(relative(a.dv, b.dv), tolerance);
  EXPECT_LT(relative(a.d_bias, b.d_bias), tolerance);
}

class HeadAttention : public test::EveryInstructionSet {};

}  // namespace

TEST_P(HeadAttention, InFloatsEqualsThatInDoubles) {
  for (const auto& s :
       {HeadShape{5, 4, 3, 2}, HeadShape{47, 61, 16, 8}, HeadShape{197, 197, 64, 64},
        HeadShape{33, 1300, 7, 65}, HeadShape{130, 49, 32, 33}})
    for (const bool biased : {false, true})
      for (const float dropout : {0.0f, 0.4f}) {
        SCOPED_TRACE(fmt::format("{} queries, {} keys, width {}, biased {}, dropout {}", s.queries,
                                 s.keys, s.width, biased, dropout));
        HeadInputs in(s);
        in.biased = biased;
        in.dropout = dropout;
        const auto exact = results<double>(in, Factors::Full);
        expect_near(results<float>(in, Factors::Full), exact, 1e-5);
        expect_near(results<float>(in, Factors::Bf16), exact, 0.03);
      }
}

TEST_P(HeadAttention, OfCausalHeadsEqualsTheMaskedOne) {
  for (const auto& s : {HeadShape{1, 1, 4, 4}, HeadShape{5, 5, 3, 2}, HeadShape{61, 61, 16, 8},
                        HeadShape{197, 197, 64, 65}, HeadShape{50, 131, 32, 33}})
    for (const float dropout : {0.0f, 0.4f}) {
      SCOPED_TRACE(fmt::format("{} queries, {} keys, dropout {}", s.queries, s.keys, dropout));
      HeadInputs in(s);
      in.dropout = dropout;
      in.biased = true;
      in.bias.zero_();
      in.mask = torch::full({s.queries, s.keys}, -INFINITY).triu(1);
      const auto masked = results<double>(in, Factors::Full);
      in.biased = false;
      in.causal = true;
      auto exact = results<double>(in, Factors::Full);
      EXPECT_LT(relative(exact.out, masked.out), 1e-12);
      EXPECT_LT(relative(exact.dv, masked.dv), 1e-12);
      exact.d_bias = masked.d_bias;
      auto floats = results<float>(in, Factors::Full), rounded = results<float>(in, Factors::Bf16);
      floats.d_bias = rounded.d_bias = masked.d_bias;
      if (s.queries == 1) continue;  // the gradients of a single weight, 1, are 0
      EXPECT_LT(relative(exact.dq, masked.dq), 1e-12);
      EXPECT_LT(relative(exact.dk, masked.dk), 1e-12);
      expect_near(floats, exact, 1e-5);
      expect_near(rounded, exact, 0.03);
    }
}

TEST_P(HeadAttention, Bf16RoundsTheFactors) {
  const HeadInputs in({64, 64, 32, 32});
  const auto full = results<float>(in, Factors::Full), rounded = results<float>(in, Factors::Bf16);
  EXPECT_GT(relative(rounded.out, full.out.to(torch::kDouble)), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Vectors, HeadAttention, test::instruction_sets());

}  // namespace vitrine
