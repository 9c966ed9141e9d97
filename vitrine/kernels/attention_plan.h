#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vitrine/core/attention_pattern.h"

namespace vitrine::kernels {

/// Tokens at start + (k / run) * step + k % run, for k = 0 .. count - 1.
struct Places {
  int64_t start = 0, step = 1, run = 1, count = 0;

  int64_t operator[](int64_t k) const { return start + k / run * step + k % run; }
};

/// Keys that a group of queries meets at once. Query r sees those from low[r] to high[r] - 1.
struct KeyTile {
  Places keys;
  bool whole = false;  // every query sees every key, and `low` and `high` are empty
  std::vector<int32_t> low{}, high{};
  int64_t number = 0;  // of its first cell among the cells of the plan
};

/// Queries that are worked on together, and all keys that they meet in one pass.
struct QueryGroup {
  Places queries;
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
  int64_t pairs = 0;         // that the pattern allows
  int64_t cells = 0;         // in all tiles
  int64_t most_queries = 0;  // in a group
  int64_t most_keys = 0;     // in a tile
};

/// The plan for the pattern, made once and then kept.
std::shared_ptr<const AttentionPlan> attention_plan(const AttentionPattern& pattern,
                                                    int64_t tokens);

}  // namespace vitrine::kernels
