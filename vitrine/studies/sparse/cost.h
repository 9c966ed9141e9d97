#pragma once

#include <cstdint>
#include <vector>

#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

/// The stride that goes with a length: sqrt(n), up to a multiple of 16.
int64_t stride_for(int64_t tokens);
/// What dense attention takes of memory: a few score matrices of two heads.
double dense_attention_bytes(int64_t tokens);
/// Forward and backward pass of sparse and dense attention, interleaved; medians over the rounds.
CostPart measure_cost(const std::vector<int64_t>& lengths, int64_t rounds);

/// Figures of a cost: see `growth_of`.
inline double total_ms(const AttentionCost& cost) { return cost.total_ms; }
inline double attention_bytes(const AttentionCost& cost) { return static_cast<double>(cost.bytes); }

}  // namespace vitrine::sparse
