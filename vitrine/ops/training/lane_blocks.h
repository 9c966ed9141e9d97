#pragma once

#include "vitrine/ops/training/encoder_block.h"

// Transformer blocks so small that each lane of a vector takes a sequence of its own. For
// `training_encoder_block`.
namespace vitrine {

/// Whether a block is of this kind: few numbers, in fp32, without dropout.
bool suits_lanes(int64_t T, int64_t C, int64_t hidden, const EncoderBlockSettings& settings,
                 Precision precision);

/// y (B, T, C) of x (B, T, C), and what the backward pass needs if it is to be kept.
struct LaneBlocks {
  torch::Tensor y, kept;
};
LaneBlocks lane_blocks_forward(const torch::Tensor& x, const EncoderBlockWeights& weights,
                               const EncoderBlockSettings& settings, bool keep);

/// The gradients. Their sums do not depend on the number of threads.
BlockGradients lane_blocks_backward(const torch::Tensor& x, const torch::Tensor& kept,
                                    const torch::Tensor& dy, const EncoderBlockWeights& weights,
                                    const EncoderBlockSettings& settings);

}  // namespace vitrine
