#include "vitrine/studies/sparse/growth.h"

#include <algorithm>
#include <cmath>

#include "vitrine/core/line_fit.h"
#include "vitrine/core/task.h"

namespace vitrine::sparse {
namespace {

constexpr double kFloat = sizeof(float);

/// Numbers per token that a block keeps for its backward pass: two norms, queries, keys and values,
/// two projections with dropout and sum, the hidden layer before and after its activation.
double inside_of_block(const NetworkSize& size) {
  return static_cast<double>(9 * size.dim + 2 * size.key_width + 2 * size.hidden);
}

double mean_of_logs(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

/// The laws that one kind of attention follows.
struct AttentionLaws {
  PowerLaw forward, total, bytes;

  /// In a step with recomputation: twice forward, once backward.
  double seconds(double tokens, const NetworkSize& size) const {
    return 1e-3 * static_cast<double>(size.layers) * (total.at(tokens) + forward.at(tokens));
  }
};

std::optional<AttentionLaws> laws_of(const std::vector<AttentionCost>& costs) {
  const auto forward = growth_of(costs, forward_ms), total = growth_of(costs, total_ms),
             bytes = growth_of(costs, attention_bytes);
  if (!forward || !total || !bytes) return std::nullopt;
  return AttentionLaws{*forward, *total, *bytes};
}

}  // namespace

double PowerLaw::at(double x) const { return factor * std::pow(x, exponent); }

PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> log_x, log_y;
  for (const double value : x) log_x.push_back(std::log(value));
  for (const double value : y) log_y.push_back(std::log(value));
  const double exponent = slope(log_x, log_y);
  return {std::exp(mean_of_logs(y) - exponent * mean_of_logs(x)), exponent};
}

double total_ms(const AttentionCost& cost) { return cost.total_ms; }
double forward_ms(const AttentionCost& cost) { return cost.forward_ms; }
double attention_bytes(const AttentionCost& cost) { return static_cast<double>(cost.bytes); }

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

double fixed_bytes(const NetworkSize& size) {
  constexpr double kCopies = 4;
  return kFloat * kCopies * static_cast<double>(size.parameters);
}

double token_bytes(const NetworkSize& size) {
  constexpr double kWithGradient = 2, kScores = 3;  // scores, their logarithms, their gradient
  const auto inputs = static_cast<double>((size.layers + 1) * size.dim);
  return kFloat * (inputs + kWithGradient * inside_of_block(size) +
                   kScores * static_cast<double>(kByteValues));
}

double bytes_without_recompute(const NetworkSize& size, int64_t tokens) {
  const double inside = kFloat * static_cast<double>(size.layers) * inside_of_block(size);
  return fixed_bytes(size) + static_cast<double>(tokens) * (token_bytes(size) + inside);
}

std::vector<GrowthRow> growth(const StepPart& step, const CostPart& cost,
                              const std::vector<int64_t>& lengths) {
  const auto sparse = laws_of(cost.sparse), dense = laws_of(cost.dense);
  if (!sparse || !dense || step.sparse.peak_bytes == 0) return {};
  const auto& size = step.size;
  const auto measured_at = static_cast<double>(step.tokens);
  const auto on_paper = [&](double n, const AttentionLaws& laws) {
    return fixed_bytes(size) + n * token_bytes(size) + laws.bytes.at(n);
  };
  // What the formulas leave open is taken from the measured step.
  const double other_bytes =
      static_cast<double>(step.sparse.peak_bytes) - on_paper(measured_at, *sparse);
  const double other_seconds =
      std::max(0.0, step.sparse.seconds - sparse->seconds(measured_at, size));
  const auto needs = [&](double n, const AttentionLaws& laws) {
    return StepEstimate{other_seconds * n / measured_at + laws.seconds(n, size),
                        on_paper(n, laws) + other_bytes};
  };
  std::vector<GrowthRow> rows;
  for (const auto tokens : lengths) {
    const auto n = static_cast<double>(tokens);
    rows.push_back({tokens, needs(n, *sparse), needs(n, *dense)});
  }
  return rows;
}

}  // namespace vitrine::sparse
