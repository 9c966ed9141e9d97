#include "vitrine/kernels/attention.h"

#include <vector>

#include "vitrine/kernels/attention_scores.h"
#include "vitrine/kernels/gemm.h"
#include "vitrine/kernels/packed_attention.h"
#include "vitrine/kernels/softmax.h"

namespace vitrine::kernels {
namespace {

/// Products by BLAS; keeps the weights.
template <typename T>
class PlainAttention : public HeadAttention<T> {
 public:
  explicit PlainAttention(const HeadShape& largest)
      : keys_(largest.keys), scratch_(2 * largest.queries * largest.keys) {}

  int64_t kept_per_query() const override { return keys_; }

  void forward(const Head<T>& h, T* kept, Rows<T> out) override {
    const auto [n, m, width, value_width] = h.shape;
    T* weights = kept ? kept : scratch_.data() + n * m;
    gemm(Transpose::No, Transpose::Yes, n, m, width, h.scale, h.q.values, h.q.stride, h.k.values,
         h.k.stride, T(0), weights, m);
    add_to_scores(h, 0, n, {weights, m});
    hide_scores(h, 0, n, m, {weights, m});
    softmax_rows(weights, n, m);
    gemm(Transpose::No, Transpose::No, n, value_width, m, T(1), dropped(h, weights), m, h.v.values,
         h.v.stride, T(0), out.values, out.stride);
  }

  void backward(const Head<T>& h, const T* weights, Rows<const T> d_out,
                const HeadGradients<T>& g) override {
    const auto [n, m, width, value_width] = h.shape;
    T* d_weights = scratch_.data() + n * m;
    gemm(Transpose::Yes, Transpose::No, m, value_width, n, T(1), dropped(h, weights), m,
         d_out.values, d_out.stride, T(0), g.v.values, g.v.stride);
    gemm(Transpose::No, Transpose::Yes, n, m, value_width, T(1), d_out.values, d_out.stride,
         h.v.values, h.v.stride, T(0), d_weights, m);
    drop_weights(h, 0, n, Rows<const T>{d_weights, m}, {d_weights, m});
    softmax_rows_backward(weights, d_weights, d_weights, n, m);  // now that of the scores
    add_to_bias(h, 0, n, {d_weights, m}, g.bias);
    gemm(Transpose::No, Transpose::No, n, width, m, h.scale, d_weights, m, h.k.values, h.k.stride,
         T(0), g.q.values, g.q.stride);
    gemm(Transpose::Yes, Transpose::No, m, width, n, h.scale, d_weights, m, h.q.values, h.q.stride,
         T(0), g.k.values, g.k.stride);
  }

 private:
  /// The weights behind the dropout.
  const T* dropped(const Head<T>& h, const T* weights) {
    if (h.dropout.probability == 0) return weights;
    const auto m = h.shape.keys;
    drop_weights(h, 0, h.shape.queries, {weights, m}, {scratch_.data(), m});
    return scratch_.data();
  }

  const int64_t keys_;
  std::vector<T> scratch_;
};

}  // namespace

template <>
std::unique_ptr<HeadAttention<double>> head_attention(const HeadShape& largest, Factors) {
  return std::make_unique<PlainAttention<double>>(largest);
}

template <>
std::unique_ptr<HeadAttention<float>> head_attention(const HeadShape& largest, Factors factors) {
  if (!PackedAttention::suits(largest)) return std::make_unique<PlainAttention<float>>(largest);
  return std::make_unique<PackedAttention>(largest, factors);
}

}  // namespace vitrine::kernels
