#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::labs {

/// What the loss of an untrained stack of blocks sends back to each of them.
struct StackGradients {
  int64_t depth = 0;
  // Norm of the gradient, the first block first: of all parameters, and of those that make
  // queries and keys.
  std::vector<double> all{}, queries_keys{};
  double alike = 0;  // mean cosine of the different tokens of an output
};

/// Stacks of several depths in one form: "bare" has neither residuals nor norms, "normed" only
/// norms, "post" and "pre" have both.
struct GradientSeries {
  std::string form{};
  std::vector<StackGradients> stacks{};
};

std::vector<GradientSeries> gradients_by_depth(const std::vector<int64_t>& depths, uint64_t seed);

}  // namespace vitrine::labs
