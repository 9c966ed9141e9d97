#include "vitrine/inspect/rollout.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// The rows of the output's token (or the mean of all rows) over the patches:
/// (..., T, T) -> (..., rows, columns).
torch::Tensor over_patches(const torch::Tensor& weights, const TokenGrid& grid) {
  const auto seen = grid.prefix > 0 ? weights.select(-2, 0) : weights.mean(-2);  // (..., T)
  const auto patches = seen.narrow(-1, grid.prefix, grid.rows * grid.columns);
  auto shape = patches.sizes().vec();
  shape.back() = grid.rows;
  shape.push_back(grid.columns);
  return patches.reshape(shape);
}

void check_layer(const torch::Tensor& layer, const TokenGrid& grid) {
  const auto T = grid.prefix + grid.rows * grid.columns;
  check(layer.dim() == 3 && layer.size(1) == T && layer.size(2) == T,
        "rollout: attention weights are {}, expected heads x {} x {}",
        fmt::join(layer.sizes(), "x"), T, T);
}

}  // namespace

torch::Tensor attention_rollout(const std::vector<torch::Tensor>& layers, const TokenGrid& grid) {
  check(!layers.empty(), "rollout: there are no attention weights");
  torch::Tensor flow;
  for (const auto& layer : layers) {
    check_layer(layer, grid);
    const auto mean = layer.mean(0);  // (T, T)
    auto mixed = 0.5 * mean + 0.5 * torch::eye(mean.size(0), mean.options());
    mixed = mixed / mixed.sum(-1, /*keepdim=*/true);
    flow = flow.defined() ? mixed.matmul(flow) : mixed;
  }
  return over_patches(flow, grid);
}

torch::Tensor head_maps(const torch::Tensor& layer, const TokenGrid& grid) {
  check_layer(layer, grid);
  return over_patches(layer, grid);
}

torch::Tensor position_similarity(const torch::Tensor& table, const TokenGrid& grid) {
  const auto P = grid.rows * grid.columns;
  check(table.dim() == 3 && table.size(1) == grid.prefix + P,
        "position similarity: the table is {}, expected 1 x {} x width",
        fmt::join(table.sizes(), "x"), grid.prefix + P);
  const auto patches = table[0].narrow(0, grid.prefix, P);                             // (P, C)
  const auto unit = patches / patches.norm(2, -1, /*keepdim=*/true).clamp_min(1e-12);  // (P, C)
  return unit.matmul(unit.t());
}

}  // namespace vitrine
