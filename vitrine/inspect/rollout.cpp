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

/// One matrix of a layer's heads: (B, H, Tq, Tk) -> (B, Tq, Tk).
torch::Tensor fused(const torch::Tensor& weights, HeadFusion heads) {
  switch (heads) {
    case HeadFusion::Max:
      return weights.amax(1);
    case HeadFusion::Min:
      return weights.amin(1);
    case HeadFusion::Mean:
      break;
  }
  return weights.mean(1);
}

/// With the smallest weights of each image set to 0.
torch::Tensor discarded(const torch::Tensor& weights, double fraction) {
  const auto flat = weights.flatten(1);
  const auto count = static_cast<int64_t>(fraction * static_cast<double>(flat.size(1)));
  if (count == 0) return weights;
  const auto smallest = std::get<1>(flat.topk(count, 1, /*largest=*/false));
  return flat.scatter(1, smallest, 0).view_as(weights);
}

/// The product of what `step` makes of every layer, (B, T, T) on its queries' grid, weighed by
/// `readout`: (B, rows, columns) on the first layer's grid. `step` gets the identity and a function
/// that brings weights on keys, (B, Tq, Tk), to the queries' grid.
template <typename Step>
torch::Tensor follow(const std::vector<AttentionRecord>& layers, const torch::Tensor& readout,
                     const Step& step) {
  check(!layers.empty(), "rollout: there are no attention weights");
  const auto first = layers.front().queries;
  const auto options = layers.front().weights.options();
  auto grid = first;
  auto flow = torch::eye(grid.tokens(), options).unsqueeze(0);  // (B, T, T of the first layer)
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& layer = layers[i];
    check_layer(layer);
    if (layer.queries != grid) flow = overlap(layer.queries, grid, options).matmul(flow);
    grid = layer.queries;
    const auto on_queries = [&](const torch::Tensor& weights) {
      return layer.keys == grid ? weights : weights.matmul(overlap(layer.keys, grid, options));
    };
    flow = step(i, torch::eye(grid.tokens(), options), on_queries).matmul(flow);
  }
  check(readout.dim() == 2 && readout.size(1) == grid.tokens(),
        "rollout: the answer reads {} tokens, the last layer gives {}",
        fmt::join(readout.sizes(), "x"), grid.tokens());
  return as_map(readout.to(options).unsqueeze(1).matmul(flow).squeeze(1), first);
}

/// The distance in pixels of every query's centre to every key's, without those that have no
/// position: (queries, keys).
torch::Tensor distances(const TokenGrid& queries, const TokenGrid& keys, int64_t image,
                        const torch::TensorOptions& options) {
  const auto centres = [&](int64_t cells) {
    return (torch::arange(cells, options) + 0.5) * (static_cast<double>(image) / cells);
  };
  const auto apart = [&](int64_t from, int64_t to) {
    return (centres(from).unsqueeze(1) - centres(to)).square();
  };
  const auto down = apart(queries.rows, keys.rows), across = apart(queries.columns, keys.columns);
  return (down.unsqueeze(1).unsqueeze(3) + across.unsqueeze(0).unsqueeze(2))  // (R, C, R', C')
      .sqrt()
      .flatten(2)
      .flatten(0, 1);
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
                                const torch::Tensor& readout, const RolloutConfig& config) {
  config.validate();
  return follow(layers, readout, [&](size_t i, const torch::Tensor& eye, const auto& on_queries) {
    const auto mixed =
        on_queries(discarded(fused(layers[i].weights, config.heads), config.discard)) + eye;
    return mixed / mixed.sum(-1, /*keepdim=*/true);
  });
}

torch::Tensor attention_relevance(const std::vector<AttentionRecord>& layers,
                                  const std::vector<torch::Tensor>& gradients,
                                  const torch::Tensor& readout) {
  check(gradients.size() == layers.size(), "relevance: {} gradients of {} layers", gradients.size(),
        layers.size());
  return follow(layers, readout, [&](size_t i, const torch::Tensor& eye, const auto& on_queries) {
    check(gradients[i].sizes() == layers[i].weights.sizes(),
          "relevance: layer {} has weights {} and gradients {}", i + 1,
          fmt::join(layers[i].weights.sizes(), "x"), fmt::join(gradients[i].sizes(), "x"));
    return on_queries((gradients[i] * layers[i].weights).clamp_min(0).mean(1)) + eye;
  });
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

torch::Tensor head_distance(const AttentionRecord& layer, int64_t image) {
  check_layer(layer);
  const auto pairs =
      layer.weights.narrow(2, layer.queries.prefix, layer.queries.tokens() - layer.queries.prefix)
          .narrow(3, layer.keys.prefix, layer.keys.tokens() - layer.keys.prefix)
          .to(torch::kDouble);  // (B, H, queries, keys)
  const auto apart = distances(layer.queries, layer.keys, image, pairs.options());
  const auto total = pairs.sum(-1).clamp_min(1e-30);
  return ((pairs * apart).sum(-1) / total).mean(-1);
}

double uniform_distance(const TokenGrid& queries, const TokenGrid& keys, int64_t image) {
  return distances(queries, keys, image, torch::kDouble).mean().item<double>();
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
