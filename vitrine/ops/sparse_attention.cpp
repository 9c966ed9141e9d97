#include "vitrine/ops/sparse_attention.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/kernels/sparse_attention.h"
#include "vitrine/ops/bf16_sparse_attention.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/random_key.h"
#include "vitrine/ops/sparse_call.h"
#include "vitrine/ops/torch_compat.h"

namespace vitrine {
namespace {

using kernels::AttentionPlan;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// The tensors of a call and what else decides it.
struct SparseCall {
  torch::Tensor q, k, v;
  std::shared_ptr<const AttentionPlan> plan;
  double dropout;
  uint64_t key;

  int64_t heads() const { return q.size(0) * q.size(2); }
  int64_t tokens() const { return q.size(1); }
  int64_t value_width() const { return v.size(3); }

  template <typename T>
  kernels::SparseHead<T> head(int64_t index) const {
    const kernels::DropoutKey drop{static_cast<float>(dropout), key + static_cast<uint64_t>(index)};
    return {vectors_of<const T>(q, index),
            vectors_of<const T>(k, index),
            vectors_of<const T>(v, index),
            q.size(3),
            v.size(3),
            static_cast<T>(1 / std::sqrt(q.size(3))),
            drop};
  }
  template <typename T>
  kernels::SparseScratch<T> scratch() const {
    return {*plan, q.size(3), v.size(3)};
  }
};

template <typename T>
void run_forward(const SparseCall& call, const torch::Tensor& out, T* top, T* sum) {
  const auto n = call.tokens();
  for (const auto& pass : call.plan->passes) {
    const auto groups = static_cast<int64_t>(pass.size());
    at::parallel_for(0, call.heads() * groups, 1, [&](int64_t begin, int64_t end) {
      auto scratch = call.scratch<T>();
      for (int64_t i = begin; i < end; ++i) {
        const auto head = i / groups;
        kernels::sparse_forward(call.head<T>(head), pass[i % groups], vectors_of<T>(out, head),
                                top + head * n, sum + head * n, scratch);
      }
    });
  }
  at::parallel_for(0, call.heads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernels::sparse_finish(n, call.value_width(), vectors_of<T>(out, i), top + i * n,
                             sum + i * n);
  });
}

/// Gradients of k and v are added up by `shares` workers per head, each in tensors of its own.
struct SparseGradients {
  torch::Tensor dq;
  std::vector<torch::Tensor> dk, dv;

  SparseGradients(const SparseCall& call, int64_t shares) : dq(torch::zeros_like(call.q)) {
    for (int64_t i = 0; i < shares; ++i) {
      dk.push_back(torch::zeros_like(call.k, torch::MemoryFormat::Contiguous));
      dv.push_back(torch::zeros_like(call.v, torch::MemoryFormat::Contiguous));
    }
  }
};

template <typename T>
void run_backward(const SparseCall& call, const torch::Tensor& d_out, const T* log_sum,
                  const T* dot, SparseGradients& gradients) {
  const auto n = call.tokens(), shares = static_cast<int64_t>(gradients.dk.size());
  for (const auto& pass : call.plan->passes) {
    const auto groups = static_cast<int64_t>(pass.size());
    at::parallel_for(0, call.heads() * shares, 1, [&](int64_t begin, int64_t end) {
      auto scratch = call.scratch<T>();
      for (int64_t i = begin; i < end; ++i) {
        const auto head = i / shares, share = i % shares;
        for (int64_t g = share * groups / shares; g < (share + 1) * groups / shares; ++g)
          kernels::sparse_backward(call.head<T>(head), pass[g], vectors_of<const T>(d_out, head),
                                   log_sum + head * n, dot + head * n,
                                   vectors_of<T>(gradients.dq, head),
                                   vectors_of<T>(gradients.dk[share], head),
                                   vectors_of<T>(gradients.dv[share], head), scratch);
      }
    });
  }
}

struct SparseAttention : torch::autograd::Function<SparseAttention> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const AttentionPattern& pattern,
                               double dropout) {
    const auto key = static_cast<int64_t>(dropout > 0 ? draw_random_key() : 0);
    const SparseCall call{rows_packed(q), rows_packed(k),
                          rows_packed(v), kernels::attention_plan(pattern, q.size(1)),
                          dropout,        static_cast<uint64_t>(key)};
    const auto B = q.size(0), T = q.size(1), H = q.size(2);
    auto out = torch::zeros({B, T, H, v.size(3)}, v.options());
    auto top = torch::full({B, H, T}, -INFINITY, v.options());
    auto sum = torch::zeros({B, H, T}, v.options());
    AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "sparse_attention", [&] {
      run_forward(call, out, top.data_ptr<scalar_t>(), sum.data_ptr<scalar_t>());
    });
    ctx->save_for_backward({call.q, call.k, call.v, out, top});
    ctx->saved_data["pattern"] = numbers_of(pattern);
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    return out;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &out = saved[3], &log_sum = saved[4];
    const auto pattern = pattern_of(ctx->saved_data["pattern"].toIntVector());
    const SparseCall call{saved[0],
                          saved[1],
                          saved[2],
                          kernels::attention_plan(pattern, saved[0].size(1)),
                          ctx->saved_data["dropout"].toDouble(),
                          static_cast<uint64_t>(ctx->saved_data["key"].toInt())};
    const auto d_out = rows_packed(gradients[0]);
    const auto dot = (out * d_out).sum(-1).transpose(1, 2).contiguous();  // (B, H, T)
    const auto shares = std::max<int64_t>(1, at::get_num_threads() / call.heads());
    SparseGradients sums(call, shares);
    AT_DISPATCH_FLOATING_TYPES(call.q.scalar_type(), "sparse_attention_backward", [&] {
      run_backward(call, d_out, log_sum.data_ptr<scalar_t>(), dot.data_ptr<scalar_t>(), sums);
    });
    for (int64_t i = 1; i < shares; ++i) {
      sums.dk[0] += sums.dk[i];
      sums.dv[0] += sums.dv[i];
    }
    return {sums.dq, sums.dk[0], sums.dv[0], {}, {}};
  }
};

torch::Tensor tokens_at(const kernels::StridedIndices& indices) {
  auto tokens = torch::empty({indices.count}, torch::kLong);
  for (int64_t k = 0; k < indices.count; ++k) tokens.data_ptr<int64_t>()[k] = indices[k];
  return tokens;
}

/// The keys of all tiles of a group, and which of its queries sees which: (queries, keys) bool.
std::pair<torch::Tensor, torch::Tensor> keys_of(const kernels::QueryGroup& group) {
  std::vector<torch::Tensor> keys, seen;
  for (const auto& tile : group.tiles) {
    keys.push_back(tokens_at(tile.keys));
    seen.push_back(torch::ones({group.queries.count, tile.keys.count}, torch::kBool));
    if (tile.dense) continue;
    const auto place = torch::arange(tile.keys.count).unsqueeze(0);
    const auto edge = [](const std::vector<int32_t>& at) { return torch::tensor(at).unsqueeze(1); };
    seen.back() = place.ge(edge(tile.key_begin)).logical_and(place.lt(edge(tile.key_end)));
  }
  return {torch::cat(keys), torch::cat(seen, 1)};
}

/// What the tokens see in one pass, and the logarithm of the sum of exp(score) behind it.
struct PassResult {
  torch::Tensor mixed;    // (B, H, T, E)
  torch::Tensor log_sum;  // (B, H, T, 1); -infinity for a token that sees none
};

/// q, k, v: (B, H, T, D or E).
PassResult run_pass(const kernels::Pass& pass, const torch::Tensor& q, const torch::Tensor& k,
                    const torch::Tensor& v, double dropout) {
  std::vector<torch::Tensor> queries, mixed, log_sums;
  for (const auto& group : pass) {
    const auto [keys, seen] = keys_of(group);
    queries.push_back(tokens_at(group.queries).to(q.device()));
    const auto own_keys = keys.to(q.device()), hidden = seen.logical_not().to(q.device());
    const auto scores =
        q.index_select(2, queries.back()).matmul(k.index_select(2, own_keys).transpose(-2, -1)) /
        std::sqrt(q.size(3));
    const auto kept = scores.masked_fill(hidden, -INFINITY);  // (B, H, queries, keys)
    const auto log_sum = kept.logsumexp(-1, /*keepdim=*/true);
    const auto base = log_sum.masked_fill(log_sum.isinf(), 0);
    const auto weights = torch::dropout((kept - base).exp(), dropout, /*train=*/dropout > 0);
    mixed.push_back(weights.matmul(v.index_select(2, own_keys)));
    log_sums.push_back(log_sum);
  }
  const auto shape = v.sizes();
  const auto all = torch::cat(queries);
  return {torch::zeros(shape, v.options()).index_copy(2, all, torch::cat(mixed, 2)),
          torch::full({shape[0], shape[1], shape[2], 1}, -INFINITY, v.options())
              .index_copy(2, all, torch::cat(log_sums, 2))};
}

}  // namespace

void check_sparse(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                  double dropout) {
  const auto shape = [](const torch::Tensor& x) { return fmt::join(x.sizes(), "x"); };
  check(q.dim() == 4 && k.sizes() == q.sizes() && v.dim() == 4 && v.size(0) == q.size(0) &&
            v.size(1) == q.size(1) && v.size(2) == q.size(2),
        "sparse_attention: q {}, k {} and v {} are not (B, T, H, D), (B, T, H, D), (B, T, H, E)",
        shape(q), shape(k), shape(v));
  check(dropout >= 0 && dropout < 1, "sparse_attention: dropout {} is not in [0, 1)", dropout);
}

std::vector<int64_t> numbers_of(const AttentionPattern& p) {
  return {static_cast<int64_t>(p.kind),   p.stride, p.summary_tokens, p.offset, p.globals,
          static_cast<int64_t>(p.factor), p.causal, p.short_window};
}

AttentionPattern pattern_of(const std::vector<int64_t>& numbers) {
  return {static_cast<PatternKind>(numbers[0]),
          numbers[1],
          numbers[2],
          numbers[3],
          numbers[4],
          static_cast<PatternFactor>(numbers[5]),
          numbers[6] != 0,
          numbers[7] != 0};
}

torch::Tensor sparse_attention_mask(const AttentionPattern& pattern, int64_t tokens) {
  pattern.validate();
  auto mask = torch::empty({tokens, tokens}, torch::kBool);
  auto* cell = mask.data_ptr<bool>();
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t j = 0; j < tokens; ++j) *cell++ = pattern.allows(i, j);
  return mask;
}

torch::Tensor sparse_attention_reference(const torch::Tensor& q, const torch::Tensor& k,
                                         const torch::Tensor& v, const AttentionPattern& pattern,
                                         double dropout) {
  check_sparse(q, k, v, dropout);
  const auto mask = sparse_attention_mask(pattern, q.size(1)).to(q.device());
  const auto heads = [](const torch::Tensor& x) { return x.transpose(1, 2); };
  const auto scores = heads(q).matmul(heads(k).transpose(-2, -1)) / std::sqrt(q.size(3));
  const auto hidden = mask.logical_not();
  const auto weights = scores.masked_fill(hidden, -INFINITY).softmax(-1).masked_fill(hidden, 0);
  const auto kept = torch::dropout(weights, dropout, /*train=*/dropout > 0);  // (B, H, T, T)
  return kept.matmul(heads(v)).transpose(1, 2).flatten(/*start_dim=*/2);      // (B, T, H * E)
}

torch::Tensor blockwise_sparse_attention(const torch::Tensor& q, const torch::Tensor& k,
                                         const torch::Tensor& v, const AttentionPattern& pattern,
                                         double dropout) {
  check_sparse(q, k, v, dropout);
  const auto heads = [](const torch::Tensor& x) { return x.transpose(1, 2); };
  std::vector<torch::Tensor> mixed, log_sums;
  for (const auto& pass : kernels::attention_plan(pattern, q.size(1))->passes) {
    if (pass.empty()) continue;
    const auto result = run_pass(pass, heads(q), heads(k), heads(v), dropout);
    mixed.push_back(result.mixed);
    log_sums.push_back(result.log_sum);
  }
  if (mixed.empty()) return torch::zeros_like(v).flatten(/*start_dim=*/2);
  const auto all = torch::stack(log_sums);  // (passes, B, H, T, 1)
  const auto total = all.logsumexp(0);
  const auto shares = (all - total.masked_fill(total.isinf(), 0)).exp();
  return (shares * torch::stack(mixed)).sum(0).transpose(1, 2).flatten(/*start_dim=*/2);
}

torch::Tensor sparse_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const AttentionPattern& pattern,
                               double dropout) {
  check_sparse(q, k, v, dropout);
  const auto pairs = kernels::attention_plan(pattern, q.size(1))->pairs;
  RECORD_FUNCTION("vitrine::sparse_attention", std::vector<c10::IValue>({q, k, v, pairs}));
  if (q.is_meta()) return v.new_empty({v.size(0), v.size(1), v.size(2) * v.size(3)});
  if (ReferenceOps::wanted()) return sparse_attention_reference(q, k, v, pattern, dropout);
  if (!has_cpu_kernel(q)) return blockwise_sparse_attention(q, k, v, pattern, dropout);
  if (cpu_autocast_enabled() && kernels::has_bf16_products() && q.scalar_type() == torch::kFloat)
    return bf16_sparse_attention(q, k, v, pattern, dropout);
  return SparseAttention::apply(q, k, v, pattern, dropout).flatten(/*start_dim=*/2);
}

}  // namespace vitrine
