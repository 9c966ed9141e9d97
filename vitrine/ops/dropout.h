#pragma once

#include <torch/types.h>

namespace vitrine {

/// Inverted dropout with a counter-based mask: independent of threads, vectorised, and many times
/// faster than torch's serial generator. Identity if `p` is 0 or not `training`.
torch::Tensor keyed_dropout(const torch::Tensor& x, double p, bool training);

/// Stochastic depth: drops whole samples of a residual branch (B, ...), scaling the others.
torch::Tensor drop_path(const torch::Tensor& x, double p, bool training);

}  // namespace vitrine
