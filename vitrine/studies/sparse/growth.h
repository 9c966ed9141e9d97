#pragma once

#include <optional>
#include <vector>

#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

/// y = factor * x ^ exponent.
struct PowerLaw {
  double factor = 0, exponent = 0;
  double at(double x) const;
};

/// The line through the logarithms, by least squares; all values positive, at least two.
PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y);

/// How one figure of the attentions grows with their length; nothing if it is not known of two.
std::optional<PowerLaw> growth_of(const std::vector<AttentionCost>& costs,
                                  double (*figure)(const AttentionCost&));

/// Weights, gradients and Adam's two moments.
double training_state_bytes(const NetworkSize& size);
/// What a token adds outside of attention when blocks are recomputed: the inputs of all blocks, the
/// inside of one with its gradients, the logits.
double token_bytes(const NetworkSize& size);
/// A step that keeps the inside of every block.
double bytes_without_recompute(const NetworkSize& size, int64_t tokens);

/// What a training step needs at a length, by calculation.
struct StepEstimate {
  int64_t tokens = 0;
  double seconds = 0, bytes = 0;
};
struct Growth {
  std::vector<StepEstimate> sparse{}, dense{};  // of the same lengths
};

/// Scales the measured step to other lengths; empty if a measured figure is missing.
Growth growth(const StepPart& step, const CostPart& cost, const std::vector<int64_t>& lengths);

}  // namespace vitrine::sparse
