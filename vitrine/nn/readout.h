#pragma once

#include <torch/torch.h>

namespace vitrine {

// How an answer reads the last block's tokens: (B, T, C) -> (B, C), but for several. A living
// `AttentionCapture` records the weight of each token, which rollout needs, and a `FeatureCapture`
// what is read from everywhere.

/// One token: the class token, or with -1 the last.
torch::Tensor read_token(const torch::Tensor& tokens, int64_t index = 0);
/// The first `count` tokens side by side, (B, count * C), for heads that weigh equally.
torch::Tensor read_first_tokens(const torch::Tensor& tokens, int64_t count);
/// The mean of all tokens.
torch::Tensor read_mean(const torch::Tensor& tokens);
/// The mean by weights (B, 1, T), which sum to 1.
torch::Tensor read_weighted(const torch::Tensor& tokens, const torch::Tensor& weights);
/// The mean over a feature map, (B, C, H, W) -> (B, C).
torch::Tensor read_map(const torch::Tensor& map);

}  // namespace vitrine
