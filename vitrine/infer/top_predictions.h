#pragma once

#include <torch/types.h>

#include "vitrine/infer/classifier.h"

namespace vitrine {

/// The `k` likeliest classes of each example, likeliest first: logits (B, N) before the softmax.
std::vector<std::vector<Prediction>> top_predictions(const torch::Tensor& logits,
                                                     const std::vector<std::string>& classes,
                                                     int64_t k);

}  // namespace vitrine
