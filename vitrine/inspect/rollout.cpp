#include "vitrine/inspect/rollout.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// How much of each of `to` cells of a line lies in each of `from` cells: (to, from), rows sum
/// to 1.
torch::Tensor overlap(int64_t to, int64_t from, const torch::TensorOptions& options) {
  const auto i = torch::arange(to, options).unsqueeze(1), j = torch::arange(from, options);
  const auto begin = torch::maximum(i * from, j * to);  // the line is to * from long
  const auto end = torch::minimum((i + 1) * from, (j + 1) * to);
  return (end - begin).clamp_min(0) / from;
}

/// The same of two grids: (tokens of `to`, tokens of `from`). Tokens without a place stand for
/// themselves; where `from` has no such token, the row is 0.
torch::Tensor overlap(const TokenGrid& to, const TokenGrid& from,
                      const torch::TensorOptions& options) {
  auto matrix = torch::zeros({to.tokens(), from.tokens()}, options);
  const auto shared = std::min(to.prefix, from.prefix);
  matrix.narrow(0, 0, shared).narrow(1, 0, shared).copy_(torch::eye(shared, options));
  const auto cells =
      torch::kron(overlap(to.rows, from.rows, options), overlap(to.columns, from.columns, options));
  matrix.narrow(0, to.prefix, cells.size(0)).narrow(1, from.prefix, cells.size(1)).copy_(cells);
  return matrix;
}

void check_layer(const AttentionRecord& layer) {
  const auto& w = layer.weights;
  const auto Tq = layer.queries.tokens(), Tk = layer.keys.tokens();
  check(w.dim() == 4 && w.size(2) == Tq && w.size(3) == Tk,
        "rollout: attention weights are {}, expected batch x heads x {} x {}",
        fmt::join(w.sizes(), "x"), Tq, Tk);
}

}  // namespace

torch::Tensor as_map(const torch::Tensor& per_token, const TokenGrid& grid) {
  const auto cells = per_token.narrow(-1, grid.prefix, grid.rows * grid.columns);
  auto shape = cells.sizes().vec();
  shape.back() = grid.rows;
  shape.push_back(grid.columns);
  return cells.reshape(shape);
}

torch::Tensor attention_rollout(const std::vector<AttentionRecord>& layers,
                                const torch::Tensor& readout) {
  check(!layers.empty(), "rollout: there are no attention weights");
  const auto first = layers.front().queries;
  const auto options = layers.front().weights.options();
  auto grid = first;
  auto flow = torch::eye(grid.tokens(), options).unsqueeze(0);  // (B, T, T of the first layer)
  for (const auto& layer : layers) {
    check_layer(layer);
    if (layer.queries != grid) flow = overlap(layer.queries, grid, options).matmul(flow);
    grid = layer.queries;
    auto mean = layer.weights.mean(1);  // (B, Tq, Tk)
    if (layer.keys != grid) mean = mean.matmul(overlap(layer.keys, grid, options));
    auto mixed = 0.5 * mean + 0.5 * torch::eye(grid.tokens(), options);  // (B, T, T)
    mixed = mixed / mixed.sum(-1, /*keepdim=*/true);
    flow = mixed.matmul(flow);
  }
  check(readout.dim() == 2 && readout.size(1) == grid.tokens(),
        "rollout: the answer reads {} tokens, the last layer gives {}",
        fmt::join(readout.sizes(), "x"), grid.tokens());
  return as_map(readout.to(options).unsqueeze(1).matmul(flow).squeeze(1), first);
}

torch::Tensor head_maps(const AttentionRecord& layer) {
  check_layer(layer);
  const auto seen = layer.queries.prefix > 0 ? layer.weights.select(2, 0) : layer.weights.mean(2);
  return as_map(seen, layer.keys);
}

torch::Tensor head_entropy(const AttentionRecord& layer) {
  check_layer(layer);
  const auto Tk = layer.keys.tokens();
  if (Tk == 1) return torch::ones({layer.weights.size(0), layer.weights.size(1)}, torch::kDouble);
  const auto w = layer.weights.to(torch::kDouble);
  const auto entropy =
      -torch::xlogy(w, w).sum(-1) / std::log(static_cast<double>(Tk));  // (B, H, Tq)
  return layer.queries.prefix > 0 ? entropy.select(2, 0) : entropy.mean(2);
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
