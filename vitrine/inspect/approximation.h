#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/plot/figure.h"

namespace vitrine {

/// How far an attention layer is from the one it stands for, over the setting that decides it.
struct ApproximationCurve {
  std::string layer;         // "Performer"
  std::string name;          // what the curve is, where a layer has several
  std::string setting_name;  // "random features"
  std::vector<double> setting;
  std::vector<double> error;  // |approximation - exact| / |exact| of the outputs, a mean of draws
};

/// The curves of Performer (softmax attention, features orthogonal and independent), Linformer
/// (softmax attention over smooth sequences; keys and values are means of k neighbours) and
/// Reformer (attention with shared queries and keys, tokens in groups). `tokens`: 64 to 4096.
std::vector<ApproximationCurve> approximation_errors(int64_t tokens, uint64_t seed);

/// One chart per layer, with logarithmic axes; Performer's has the slope of theory beside it.
plot::Figure approximation_figure(const std::vector<ApproximationCurve>& curves, int64_t tokens);

}  // namespace vitrine
