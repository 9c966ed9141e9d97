#pragma once

#include <cstdint>
#include <vector>

#include "vitrine/core/activation.h"

namespace vitrine::kernels {

/// The sequences that one call takes at most: as many as a vector has lanes.
int64_t sequences_per_call();

/// A pre-norm transformer block so small that each lane of a vector takes a sequence (T, C) of its
/// own: h = x + attention(norm(x)), then h (or, with `norm_stream`, norm(h)) +
/// feed_forward(norm(h)).
struct LaneBlock {
  int64_t T, C, H, F;
  Activation activation;
  float eps;
  bool norm_stream;
  // Matrices are (outputs, inputs); biases of layers may be null.
  const float *gamma1, *beta1, *qkv_weight, *qkv_bias, *proj_weight, *proj_bias;
  const float *gamma2, *beta2, *weight1, *bias1, *weight2, *bias2;

  /// How many numbers each of them has, in this order.
  std::vector<int64_t> sizes() const {
    return {C, C, 3 * C * C, 3 * C, C * C, C, C, C, F * C, F, C * F, C};
  }
};

/// The floats of memory that a call computes in: `numbers` of the forward pass, which the backward
/// pass reads, and `scratch` of the backward pass.
struct LaneMemory {
  int64_t numbers, scratch;
};
LaneMemory lane_block_memory(const LaneBlock& b);

/// y (sequences, T, C) of x.
void lane_block_forward(const LaneBlock& b, const float* x, int64_t sequences, float* y,
                        float* numbers);

/// dx from dy. The gradients of the parameters, one array behind the other, are added to `sums`, in
/// which each number is a vector.
void lane_block_backward(const LaneBlock& b, const float* numbers, const float* dy,
                         int64_t sequences, float* dx, float* sums, float* scratch);

/// totals (n) += the numbers of such an array.
void add_lanes(const float* sums, int64_t n, float* totals);

}  // namespace vitrine::kernels
