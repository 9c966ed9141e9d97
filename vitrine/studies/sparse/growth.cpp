#include <algorithm>
#include <cmath>

#include "vitrine/core/line_fit.h"
#include "vitrine/core/task.h"
#include "vitrine/studies/sparse/measure.h"

namespace vitrine::sparse {
namespace {

constexpr double kFloat = sizeof(float);

/// Numbers per token that a block keeps for its backward pass: two norms, queries, keys and values,
/// two projections with dropout and sum, the hidden layer before and after its activation.
double inside_of_block(const NetworkSize& size) {
  return static_cast<double>(9 * size.dim + 2 * size.key_width + 2 * size.hidden);
}

/// The laws that one kind of attention follows.
struct AttentionLaws {
  std::optional<PowerLaw> total, forward, bytes;

  explicit AttentionLaws(const std::vector<AttentionCost>& costs)
      : total(growth_of(costs, total_ms)),
        forward(growth_of(costs, [](const AttentionCost& cost) { return cost.forward_ms; })),
        bytes(growth_of(costs, attention_bytes)) {}
  bool known() const { return total && forward && bytes; }
  /// In a step with recomputation: twice forward, once backward.
  double seconds(double tokens, const NetworkSize& size) const {
    return 1e-3 * static_cast<double>(size.layers) * (total->at(tokens) + forward->at(tokens));
  }
};

}  // namespace

double PowerLaw::at(double x) const { return factor * std::pow(x, exponent); }

PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> log_x, log_y;
  for (const double value : x) log_x.push_back(std::log(value));
  for (const double value : y) log_y.push_back(std::log(value));
  const double exponent = fitted_slope(log_x, log_y);
  return {std::exp(mean_std(log_y).mean - exponent * mean_std(log_x).mean), exponent};
}

std::optional<PowerLaw> growth_of(const std::vector<AttentionCost>& costs,
                                  double (*figure)(const AttentionCost&)) {
  std::vector<double> x, y;
  for (const auto& cost : costs) {
    if (figure(cost) <= 0) continue;
    x.push_back(static_cast<double>(cost.tokens));
    y.push_back(figure(cost));
  }
  if (x.size() < 2) return std::nullopt;
  return fit_power_law(x, y);
}

double training_state_bytes(const NetworkSize& size) {
  constexpr double kCopies = 4;
  return kFloat * kCopies * static_cast<double>(size.parameters);
}

double token_bytes(const NetworkSize& size) {
  constexpr double kWithGradient = 2, kLogits = 3;  // logits, their logarithms, their gradient
  const auto inputs = static_cast<double>((size.layers + 1) * size.dim);
  return kFloat * (inputs + kWithGradient * inside_of_block(size) +
                   kLogits * static_cast<double>(kByteValues));
}

double bytes_without_recompute(const NetworkSize& size, int64_t tokens) {
  const double inside = kFloat * static_cast<double>(size.layers) * inside_of_block(size);
  return training_state_bytes(size) + static_cast<double>(tokens) * (token_bytes(size) + inside);
}

Growth growth(const StepPart& step, const CostPart& cost, const std::vector<int64_t>& lengths) {
  const AttentionLaws sparse(cost.sparse), dense(cost.dense);
  if (!sparse.known() || !dense.known() || step.sparse.peak_bytes == 0) return {};
  const auto& size = step.size;
  const auto calculated = [&](double n, const AttentionLaws& laws) {
    return training_state_bytes(size) + n * token_bytes(size) + laws.bytes->at(n);
  };
  // What the formulas leave open is taken from the measured step.
  const auto n0 = static_cast<double>(step.tokens);
  const double other_bytes = static_cast<double>(step.sparse.peak_bytes) - calculated(n0, sparse);
  const double other_seconds = std::max(0.0, step.sparse.seconds - sparse.seconds(n0, size));
  Growth result;
  for (const auto tokens : lengths) {
    const auto n = static_cast<double>(tokens);
    const auto estimate = [&](const AttentionLaws& laws) {
      return StepEstimate{tokens, other_seconds * n / n0 + laws.seconds(n, size),
                          calculated(n, laws) + other_bytes};
    };
    result.sparse.push_back(estimate(sparse));
    result.dense.push_back(estimate(dense));
  }
  return result;
}

}  // namespace vitrine::sparse
