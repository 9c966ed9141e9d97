#include "vitrine/ops/lookup.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// Fixed pieces, so that sums do not depend on the threads.
constexpr int64_t kLookupsPerPiece = 4096;

struct Lookup : torch::autograd::Function<Lookup> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& named,
                               const torch::Tensor& rows) {
    const auto indices = named.contiguous(), table = rows.contiguous();
    const auto M = indices.numel(), N = table.size(0), C = table.size(1);
    const auto* index = indices.data_ptr<int64_t>();
    check(std::all_of(index, index + M, [&](int64_t i) { return i >= 0 && i < N; }),
          "lookup: an index is not among the {} rows of the table", N);
    auto shape = indices.sizes().vec();
    shape.push_back(C);
    auto y = torch::empty(shape, table.options());
    AT_DISPATCH_FLOATING_TYPES(table.scalar_type(), "lookup", [&] {
      const auto* in = table.data_ptr<scalar_t>();
      auto* out = y.data_ptr<scalar_t>();
      at::parallel_for(0, M, kLookupsPerPiece, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) std::copy_n(in + index[i] * C, C, out + i * C);
      });
    });
    ctx->save_for_backward({indices});
    ctx->saved_data["rows"] = N;
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto indices = ctx->get_saved_variables()[0];
    const auto dy = gradients[0].contiguous();
    const auto M = indices.numel(), C = dy.size(-1), N = ctx->saved_data["rows"].toInt();
    const auto pieces = (M + kLookupsPerPiece - 1) / kLookupsPerPiece;
    auto sums = torch::zeros({pieces, N, C}, dy.options());
    const auto* index = indices.data_ptr<int64_t>();
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "lookup_backward", [&] {
      const auto* in = dy.data_ptr<scalar_t>();
      auto* out = sums.data_ptr<scalar_t>();
      at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
        for (auto i = begin * kLookupsPerPiece; i < std::min(M, end * kLookupsPerPiece); ++i) {
          auto* row = out + (i / kLookupsPerPiece * N + index[i]) * C;
          for (int64_t c = 0; c < C; ++c) row[c] += in[i * C + c];
        }
      });
    });
    return {torch::Tensor(), pieces == 1 ? sums.squeeze(0) : sums.sum(0)};
  }
};

}  // namespace

torch::Tensor lookup_reference(const torch::Tensor& indices, const torch::Tensor& table) {
  return torch::embedding(table, indices);
}

torch::Tensor lookup(const torch::Tensor& indices, const torch::Tensor& table) {
  check(table.dim() == 2 && indices.scalar_type() == torch::kLong,
        "lookup: a table of {} and indices in {} do not fit; give a matrix and int64",
        fmt::join(table.sizes(), "x"), torch::toString(indices.scalar_type()));
  if (!has_cpu_kernel(table) || indices.numel() == 0) return lookup_reference(indices, table);
  RECORD_FUNCTION("vitrine::lookup", std::vector<c10::IValue>({indices, table}));
  return Lookup::apply(indices, table);
}

}  // namespace vitrine
