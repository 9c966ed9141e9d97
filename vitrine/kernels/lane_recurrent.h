#pragma once

#include <cstdint>
#include <vector>

#include "vitrine/core/recurrent_cell.h"
#include "vitrine/kernels/lane_block.h"

namespace vitrine::kernels {

/// A recurrent layer over sequences (T, I), each in a lane of a vector, from a state of zeros on.
struct LaneRecurrent {
  Cell cell = Cell::Rnn;
  int64_t T = 0, I = 0, H = 0;
  // As torch has them, with the gates one behind the other: (gates H, I), (gates H, H), and biases
  // (gates H).
  const float *input_weight = nullptr, *state_weight = nullptr;
  const float *input_bias = nullptr, *state_bias = nullptr;

  int64_t gates() const { return cell == Cell::Rnn ? 1 : cell == Cell::Lstm ? 4 : 3; }
  /// How many numbers each of them has, in this order.
  std::vector<int64_t> sizes() const {
    const auto G = gates() * H;
    return {G * I, G * H, G, G};
  }
};

LaneMemory lane_recurrent_memory(const LaneRecurrent& r);

/// The last state, (sequences, H), of x.
void lane_recurrent_forward(const LaneRecurrent& r, const float* x, int64_t sequences, float* state,
                            float* numbers);

/// dx; null: not wanted. The gradients of the parameters, one array behind the other, are added to
/// `sums`, in which each number is a vector.
void lane_recurrent_backward(const LaneRecurrent& r, const float* numbers, const float* d_state,
                             int64_t sequences, float* dx, float* sums, float* scratch);

}  // namespace vitrine::kernels
