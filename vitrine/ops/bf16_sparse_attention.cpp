#include "vitrine/ops/bf16_sparse_attention.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_sparse_attention.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/kernels/rows.h"
#include "vitrine/ops/panel_loop.h"
#include "vitrine/ops/random_key.h"
#include "vitrine/ops/sparse_call.h"

namespace vitrine {
namespace {

using kernels::AttentionPlan;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Calls `work(head, first, count)` for the tokens of all heads of a (B, T, H, D) tensor.
template <typename Work>
void for_all_tokens(const torch::Tensor& x, const Work& work) {
  const auto T = x.size(1), heads = x.size(0) * x.size(2);
  const auto tokens = items_per_task(kConversionsPerTask, x.size(3)),
             pieces = (T + tokens - 1) / tokens;
  at::parallel_for(0, heads * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto first = i % pieces * tokens;
      work(i / pieces, first, std::min(tokens, T - first));
    }
  });
}

/// (B, T, H, D) in bf16, two numbers to a word: (B, T, H, words) int32, where the tokens of a head
/// follow each other.
torch::Tensor head_words(const torch::Tensor& input) {
  const auto x = rows_packed(input);
  const auto B = x.size(0), T = x.size(1), H = x.size(2), D = x.size(3);
  const auto W = kernels::words_of(D, kernels::kBf16PerWord);
  const auto words = torch::empty({B, H, T, W}, torch::kInt).transpose(1, 2);
  for_all_tokens(x, [&](int64_t head, int64_t first, int64_t count) {
    const auto from = vectors_of<const float>(x, head);
    const auto to = vectors_of<int32_t>(words, head);
    kernels::round_rows(from.values + first * from.stride, from.stride, count, D,
                        to.values + first * to.stride, to.stride);
  });
  return words;
}

/// For each token of each head the product of the two vectors: (B, H, T).
torch::Tensor dot_products(const torch::Tensor& a, const torch::Tensor& b) {
  const auto T = a.size(1), D = a.size(3);
  auto dot = torch::empty({a.size(0), a.size(2), T}, a.options());
  auto* out = dot.data_ptr<float>();
  for_all_tokens(a, [&](int64_t head, int64_t first, int64_t count) {
    const auto x = vectors_of<const float>(a, head), y = vectors_of<const float>(b, head);
    for (int64_t t = first; t < first + count; ++t)
      out[head * T + t] = kernels::dot_product(x.values + t * x.stride, y.values + t * y.stride, D);
  });
  return dot;
}

/// The tensors of a call, in bf16, and what else decides it.
struct Bf16Call {
  torch::Tensor q, k, v;           // (B, T, H, words)
  int64_t key_width, value_width;  // in numbers
  std::shared_ptr<const AttentionPlan> plan;
  kernels::DropoutKey dropout;

  int64_t heads() const { return q.size(0) * q.size(2); }
  int64_t tokens() const { return q.size(1); }
  kernels::Bf16SparseHead head(int64_t index) const {
    return {vectors_of<const int32_t>(q, index),
            vectors_of<const int32_t>(k, index),
            vectors_of<const int32_t>(v, index),
            key_width,
            value_width,
            1 / std::sqrt(static_cast<float>(key_width)),
            {dropout.probability, dropout.key + static_cast<uint64_t>(index)}};
  }
  kernels::Bf16SparseScratch scratch() const { return {*plan, key_width, value_width}; }
  /// Zeros, (B, T, H, width).
  torch::Tensor zeros(int64_t width) const {
    return torch::zeros({q.size(0), q.size(1), q.size(2), width});
  }
};

void run_forward(const Bf16Call& call, const torch::Tensor& out, float* top, float* sum) {
  const auto n = call.tokens();
  for (const auto& pass : call.plan->passes) {
    const auto groups = static_cast<int64_t>(pass.size());
    at::parallel_for(0, call.heads() * groups, 1, [&](int64_t begin, int64_t end) {
      auto scratch = call.scratch();
      for (int64_t i = begin; i < end; ++i) {
        const auto head = i / groups;
        kernels::bf16_sparse_forward(call.head(head), pass[i % groups],
                                     vectors_of<float>(out, head), top + head * n, sum + head * n,
                                     scratch);
      }
    });
  }
  for_all_tokens(out, [&](int64_t head, int64_t first, int64_t count) {
    auto rows = vectors_of<float>(out, head);
    rows.values += first * rows.stride;
    kernels::sparse_finish(count, call.value_width, rows, top + head * n + first,
                           sum + head * n + first);
  });
}

/// Gradients of k and v are added up by `shares` workers per head, each in tensors of its own.
struct Bf16Gradients {
  torch::Tensor dq;
  std::vector<torch::Tensor> dk, dv;

  Bf16Gradients(const Bf16Call& call, int64_t shares) : dq(call.zeros(call.key_width)) {
    for (int64_t i = 0; i < shares; ++i) {
      dk.push_back(call.zeros(call.key_width));
      dv.push_back(call.zeros(call.value_width));
    }
  }
};

void run_backward(const Bf16Call& call, const torch::Tensor& d_out, const float* log_sum,
                  const float* dot, Bf16Gradients& gradients) {
  const auto n = call.tokens(), shares = static_cast<int64_t>(gradients.dk.size());
  for (const auto& pass : call.plan->passes) {
    const auto groups = static_cast<int64_t>(pass.size());
    at::parallel_for(0, call.heads() * shares, 1, [&](int64_t begin, int64_t end) {
      auto scratch = call.scratch();
      for (int64_t i = begin; i < end; ++i) {
        const auto head = i / shares, share = i % shares;
        for (int64_t g = share * groups / shares; g < (share + 1) * groups / shares; ++g)
          kernels::bf16_sparse_backward(call.head(head), pass[g],
                                        vectors_of<const int32_t>(d_out, head), log_sum + head * n,
                                        dot + head * n, vectors_of<float>(gradients.dq, head),
                                        vectors_of<float>(gradients.dk[share], head),
                                        vectors_of<float>(gradients.dv[share], head), scratch);
      }
    });
  }
}

struct Bf16SparseAttention : torch::autograd::Function<Bf16SparseAttention> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const AttentionPattern& pattern,
                               double dropout) {
    const auto key = static_cast<int64_t>(dropout > 0 ? draw_random_key() : 0);
    const Bf16Call call{head_words(q),
                        head_words(k),
                        head_words(v),
                        q.size(3),
                        v.size(3),
                        kernels::attention_plan(pattern, q.size(1)),
                        {static_cast<float>(dropout), static_cast<uint64_t>(key)}};
    const auto B = q.size(0), T = q.size(1), H = q.size(2);
    auto out = call.zeros(call.value_width);
    auto top = torch::full({B, H, T}, -INFINITY);
    auto sum = torch::zeros({B, H, T});
    run_forward(call, out, top.data_ptr<float>(), sum.data_ptr<float>());
    ctx->save_for_backward({call.q, call.k, call.v, out, top});
    ctx->saved_data["widths"] = std::vector<int64_t>{call.key_width, call.value_width};
    ctx->saved_data["pattern"] = numbers_of(pattern);
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    return out;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &out = saved[3], &log_sum = saved[4];
    const auto pattern = pattern_of(ctx->saved_data["pattern"].toIntVector());
    const auto widths = ctx->saved_data["widths"].toIntVector();
    const Bf16Call call{saved[0],
                        saved[1],
                        saved[2],
                        widths[0],
                        widths[1],
                        kernels::attention_plan(pattern, saved[0].size(1)),
                        {static_cast<float>(ctx->saved_data["dropout"].toDouble()),
                         static_cast<uint64_t>(ctx->saved_data["key"].toInt())}};
    const auto d_out = rows_packed(gradients[0]);
    const auto dot = dot_products(out, d_out);  // (B, H, T)
    const auto shares = std::max<int64_t>(1, at::get_num_threads() / call.heads());
    Bf16Gradients sums(call, shares);
    run_backward(call, head_words(d_out), log_sum.data_ptr<float>(), dot.data_ptr<float>(), sums);
    for (int64_t i = 1; i < shares; ++i) {
      sums.dk[0] += sums.dk[i];
      sums.dv[0] += sums.dv[i];
    }
    return {sums.dq, sums.dk[0], sums.dv[0], {}, {}};
  }
};

}  // namespace

torch::Tensor bf16_sparse_attention(const torch::Tensor& q, const torch::Tensor& k,
                                    const torch::Tensor& v, const AttentionPattern& pattern,
                                    double dropout) {
  check_sparse(q, k, v, dropout);
  for (const auto& t : {q, k, v})
    check(t.scalar_type() == torch::kFloat && t.device().is_cpu(),
          "bf16_sparse_attention: an input is {} on {}; give fp32 on the CPU",
          torch::toString(t.scalar_type()), t.device().str());
  return Bf16SparseAttention::apply(q, k, v, pattern, dropout).flatten(/*start_dim=*/2);
}

}  // namespace vitrine
