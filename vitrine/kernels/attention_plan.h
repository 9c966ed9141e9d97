#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vitrine/core/attention_pattern.h"

namespace vitrine::kernels {

/// Tokens at start + (k / run) * step + k % run, for k = 0 .. count - 1.
struct StridedIndices {
  int64_t start = 0, step = 1, run = 1, count = 0;

  int64_t operator[](int64_t k) const { return start + k / run * step + k % run; }
};

/// Keys that a group of queries meets at once. Query r sees those from key_begin[r] to key_end[r]
/// - 1.
struct KeyTile {
  StridedIndices keys;
  bool dense = false;  // every query sees every key; `key_begin` and `key_end` are empty
  std::vector<int32_t> key_begin{}, key_end{};
  int64_t first_cell = 0;  // its number among the cells of the plan
};

/// Queries that are worked on together, and all keys that they meet in one pass.
struct QueryGroup {
  StridedIndices queries;
  std::vector<KeyTile> tiles;
};

/// Groups with no query in common: they may be worked on at the same time.
using Pass = std::vector<QueryGroup>;

/// How a pattern is computed for sequences of one length: every allowed pair of tokens is in
/// exactly one tile, as a cell that its query sees. Its size and the time to use it follow the
/// number of allowed pairs, not the square of the length.
struct AttentionPlan {
  int64_t tokens = 0;
  std::vector<Pass> passes;
  int64_t pairs = 0;        // that the pattern allows
  int64_t cells = 0;        // in all tiles
  int64_t max_queries = 0;  // in a group
  int64_t max_keys = 0;     // in a tile
};

/// The plan for the pattern, made once and then kept.
std::shared_ptr<const AttentionPlan> attention_plan(const AttentionPattern& pattern,
                                                    int64_t tokens);

}  // namespace vitrine::kernels
