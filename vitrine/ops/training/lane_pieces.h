#pragma once

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "vitrine/kernels/lane_block.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {

/// B sequences in calls of as many as a vector has lanes. Calls are dealt out in pieces, whose sums
/// are added in their order whatever thread computes them.
class LanePieces {
 public:
  /// `work`: the multiply-adds of one sequence.
  LanePieces(int64_t B, int64_t work, const kernels::LaneMemory& memory)
      : B_(B),
        per_call_(kernels::sequences_per_call()),
        calls_((B + per_call_ - 1) / per_call_),
        calls_per_piece_((calls_ + kMostPieces - 1) / kMostPieces),
        pieces_((calls_ + calls_per_piece_ - 1) / calls_per_piece_),
        least_pieces_(items_per_task(kMultiplyAddsPerTask, work * calls_per_piece_ * per_call_)),
        memory_(memory) {}

  /// Calls `call(first, sequences, numbers)` for all, where `numbers` is memory of the call;
  /// returns that of all calls if it is to be kept.
  template <typename Call>
  torch::Tensor forward(bool keep, const Call& call) const {
    auto kept = torch::empty({keep ? calls_ : 0, memory_.numbers});
    auto* all = kept.data_ptr<float>();
    at::parallel_for(0, pieces_, least_pieces_, [&](int64_t begin, int64_t end) {
      std::vector<float> own(keep ? 0 : memory_.numbers);
      for (auto i = begin * calls_per_piece_; i < std::min(calls_, end * calls_per_piece_); ++i)
        call(i * per_call_, sequences(i), keep ? all + i * memory_.numbers : own.data());
    });
    return kept;
  }

  /// Calls `call(first, sequences, numbers, sums, scratch)` for all, with what the forward pass
  /// kept; returns the sums (n), in which calls add up numbers of all lanes.
  template <typename Call>
  torch::Tensor backward(const torch::Tensor& kept, int64_t n, const Call& call) const {
    auto totals = torch::zeros({pieces_, n});
    const auto* all = kept.data_ptr<float>();
    auto* out = totals.data_ptr<float>();
    at::parallel_for(0, pieces_, least_pieces_, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(memory_.scratch), sums(n * per_call_);
      for (int64_t piece = begin; piece < end; ++piece) {
        if (piece > begin) std::ranges::fill(sums, 0.0f);
        const auto last = std::min(calls_, (piece + 1) * calls_per_piece_);
        for (auto i = piece * calls_per_piece_; i < last; ++i)
          call(i * per_call_, sequences(i), all + i * memory_.numbers, sums.data(), scratch.data());
        kernels::add_lanes(sums.data(), n, out + piece * n);
      }
    });
    return pieces_ == 1 ? totals[0] : totals.sum(0);
  }

 private:
  static constexpr int64_t kMostPieces = 8;

  int64_t sequences(int64_t call) const { return std::min(per_call_, B_ - call * per_call_); }

  int64_t B_, per_call_, calls_, calls_per_piece_, pieces_, least_pieces_;
  kernels::LaneMemory memory_;
};

}  // namespace vitrine
