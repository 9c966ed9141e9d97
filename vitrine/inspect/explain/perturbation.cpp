#include "vitrine/inspect/explain/perturbation.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/nn/plain_values.h"

namespace vitrine {
namespace {

/// The map's values on another grid, row by row.
std::vector<double> values_on(const plot::Matrix& map, int64_t rows, int64_t columns) {
  if (map.rows == rows && map.columns == columns) return map.values;
  const auto given = torch::tensor(map.values, torch::kDouble).view({1, 1, map.rows, map.columns});
  return plain_values(torch::upsample_bilinear2d(given, {rows, columns}, /*align_corners=*/false));
}

/// The cells from the greatest value to the least; equal ones as in `random_order`.
std::vector<int64_t> descending(const std::vector<double>& values,
                                const std::vector<int64_t>& random_order) {
  auto order = random_order;
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return values[a] > values[b]; });
  return order;
}

/// Which pixels belong to the first cells of `order`, after every step: (steps + 1, 1, S, S) of 0
/// and 1.
torch::Tensor first_cells(const std::vector<int64_t>& order, int64_t rows, int64_t columns,
                          int64_t side) {
  const auto cells = rows * columns;
  auto masks = torch::zeros({kPerturbationSteps + 1, cells});
  for (int64_t step = 1; step <= kPerturbationSteps; ++step) {
    const auto count = std::llround(static_cast<double>(step * cells) / kPerturbationSteps);
    for (int64_t i = 0; i < count; ++i) masks[step][order[i]] = 1;
  }
  return torch::upsample_nearest2d(masks.view({kPerturbationSteps + 1, 1, rows, columns}),
                                   {side, side});
}

std::vector<double> probabilities(Model& model, const torch::Tensor& images, int64_t target) {
  return plain_values(model.forward(images).softmax(1).select(1, target));
}

}  // namespace

std::vector<PerturbationCurves> perturbation_curves(Model& model, const torch::Tensor& x,
                                                    int64_t target,
                                                    const std::vector<MethodMap>& maps,
                                                    uint64_t seed) {
  check(!maps.empty(), "faithfulness: there are no maps to measure");
  const torch::NoGradGuard no_grad;
  const auto& finest = std::max_element(maps.begin(), maps.end(), [](const auto& a, const auto& b) {
                         return a.map.multiples.values.size() < b.map.multiples.values.size();
                       })->map.multiples;
  const auto rows = finest.rows, columns = finest.columns;
  const auto random_order = permutation(rows * columns, Random({seed}));
  std::vector<PerturbationCurves> result;
  const auto measure = [&](const std::string& method, const std::vector<int64_t>& order) {
    const auto first = first_cells(order, rows, columns, x.size(2)).to(x.options());
    result.push_back({method, probabilities(model, x * (1 - first), target),
                      probabilities(model, x * first, target)});
  };
  for (const auto& [method, map] : maps)
    measure(method_title(method),
            descending(values_on(map.multiples, rows, columns), random_order));
  measure(kRandomOrder, random_order);
  return result;
}

}  // namespace vitrine
