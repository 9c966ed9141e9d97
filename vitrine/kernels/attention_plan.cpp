#include "vitrine/kernels/attention_plan.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "vitrine/core/error.h"

namespace vitrine::kernels {
namespace {

// Tiles of this many queries and keys keep scores, keys and values in the cache.
constexpr int64_t kQueries = 64, kKeys = 128;

using Allows = std::function<bool(int64_t query, int64_t key)>;

StridedIndices piece(const StridedIndices& all, int64_t first, int64_t count) {
  if (all.run == 1) return {all.start + first * all.step, all.step, 1, count};
  check(first % all.run == 0, "attention plan: a piece starts within a run");
  return {all.start + first / all.run * all.step, all.step, all.run, count};
}

class Planner {
 public:
  Planner(const AttentionPattern& pattern, int64_t tokens) : pattern_(pattern) {
    plan_.tokens = tokens;
  }

  AttentionPlan make() {
    using K = PatternKind;
    const auto& p = pattern_;
    const bool factors = p.kind == K::Strided || p.kind == K::Fixed;
    const bool first = !factors || p.factor != PatternFactor::Second;
    const bool second = p.kind == K::Longformer || (factors && p.factor != PatternFactor::First);
    const Allows in_first = [&](int64_t i, int64_t j) { return p.first_factor(i, j); };
    // What both factors allow belongs to the first.
    const Allows in_second = [&, first](int64_t i, int64_t j) {
      return p.second_factor(i, j) && !(first && p.first_factor(i, j));
    };
    if (p.kind == K::Dense) dense([](int64_t, int64_t) { return true; });
    if (p.kind == K::Fixed && first) blocks(in_first);
    if (p.kind != K::Dense && p.kind != K::Fixed && first) window(in_first);
    if (!second) return std::move(plan_);
    // Before and after the query apart, because the first factor may lie between them.
    second_pass([&](int64_t i, int64_t j) { return j <= i && in_second(i, j); });
    if (!p.causal) second_pass([&](int64_t i, int64_t j) { return j > i && in_second(i, j); });
    return std::move(plan_);
  }

 private:
  void second_pass(const Allows& allows) {
    if (pattern_.kind == PatternKind::Strided) strides(allows);
    if (pattern_.kind == PatternKind::Fixed) summaries(allows);
    if (pattern_.kind == PatternKind::Longformer) globals(allows);
  }

  /// Adds the queries with every key among `keys` that they may see.
  void add(Pass& pass, const StridedIndices& queries, const StridedIndices& keys,
           const Allows& allows) {
    for (int64_t q = 0; q < queries.count; q += kQueries) {
      QueryGroup group{piece(queries, q, std::min(kQueries, queries.count - q)), {}};
      const int64_t step = std::max(kKeys / keys.run, int64_t{1}) * keys.run;
      for (int64_t k = 0; k < keys.count; k += step)
        add_tile(group, piece(keys, k, std::min(step, keys.count - k)), allows);
      if (group.tiles.empty()) continue;
      plan_.max_queries = std::max(plan_.max_queries, group.queries.count);
      pass.push_back(std::move(group));
    }
  }

  void add_tile(QueryGroup& group, const StridedIndices& keys, const Allows& allows) {
    const int64_t last_query = group.queries[group.queries.count - 1];
    if (pattern_.causal && keys[0] > last_query) return;
    KeyTile tile{.keys = keys};
    int64_t seen = 0;
    for (int64_t r = 0; r < group.queries.count; ++r)
      seen += add_row(tile, group.queries[r], allows);
    if (seen == 0) return;
    plan_.pairs += seen;
    if (seen == group.queries.count * keys.count) {
      tile.dense = true;
      tile.key_begin.clear();
      tile.key_end.clear();
    }
    tile.first_cell = plan_.cells;
    plan_.cells += group.queries.count * keys.count;
    plan_.max_keys = std::max(plan_.max_keys, keys.count);
    group.tiles.push_back(std::move(tile));
  }

  /// Notes which keys the query sees, a run without gaps; returns how many.
  int64_t add_row(KeyTile& tile, int64_t query, const Allows& allows) {
    const auto sees = [&](int64_t k) {
      const int64_t key = tile.keys[k];
      return !(pattern_.causal && key > query) && allows(query, key);
    };
    int64_t low = 0, high = tile.keys.count;
    while (low < high && !sees(low)) ++low;
    while (high > low && !sees(high - 1)) --high;
    for (int64_t k = low; k < high; ++k)
      check(sees(k), "attention plan: the keys of query {} have a gap", query);
    tile.key_begin.push_back(static_cast<int32_t>(low));
    tile.key_end.push_back(static_cast<int32_t>(high));
    return high - low;
  }

  /// Consecutive queries, each with the keys from `reach` before it to `reach` after it.
  void band(int64_t reach, const Allows& allows) {
    Pass pass;
    for (int64_t q = 0; q < plan_.tokens; q += kQueries) {
      const int64_t count = std::min(kQueries, plan_.tokens - q);
      const int64_t low = std::max<int64_t>(q - reach, 0);
      const int64_t high = std::min(q + count + (pattern_.causal ? 0 : reach), plan_.tokens);
      add(pass, {.start = q, .count = count}, {.start = low, .count = high - low}, allows);
    }
    plan_.passes.push_back(std::move(pass));
  }

  void dense(const Allows& allows) { band(plan_.tokens, allows); }
  void window(const Allows& allows) { band(pattern_.reach(), allows); }

  void blocks(const Allows& allows) {
    Pass pass;
    for (int64_t q = 0; q < plan_.tokens; q += pattern_.stride) {
      const StridedIndices block{.start = q, .count = std::min(pattern_.stride, plan_.tokens - q)};
      add(pass, block, block, allows);
    }
    plan_.passes.push_back(std::move(pass));
  }

  void strides(const Allows& allows) {
    Pass pass;
    const int64_t l = pattern_.stride, n = plan_.tokens;
    for (int64_t r = 0; r < std::min(l, n); ++r) {
      const StridedIndices same{.start = r, .step = l, .count = (n - r + l - 1) / l};
      add(pass, same, same, allows);
    }
    plan_.passes.push_back(std::move(pass));
  }

  void summaries(const Allows& allows) {
    Pass pass;
    const int64_t l = pattern_.stride, c = pattern_.summary_tokens, n = plan_.tokens;
    const int64_t start = l - c * (pattern_.offset + 1);
    const int64_t whole = n / l, rest = std::clamp<int64_t>(n % l - start, 0, c);
    const StridedIndices keys{.start = start, .step = l, .run = c, .count = whole * c + rest};
    add(pass, {.count = n}, keys, allows);
    plan_.passes.push_back(std::move(pass));
  }

  void globals(const Allows& allows) {
    const int64_t n = plan_.tokens, g = std::min(pattern_.globals, n);
    Pass seen, seeing;
    const Allows not_global = [&](int64_t i, int64_t j) { return i >= g && allows(i, j); };
    const Allows global = [&](int64_t i, int64_t j) { return i < g && allows(i, j); };
    add(seen, {.count = n}, {.count = g}, not_global);
    add(seeing, {.count = g}, {.count = n}, global);
    plan_.passes.push_back(std::move(seen));
    plan_.passes.push_back(std::move(seeing));
  }

  AttentionPattern pattern_;
  AttentionPlan plan_;
};

}  // namespace

std::shared_ptr<const AttentionPlan> attention_plan(const AttentionPattern& pattern,
                                                    int64_t tokens) {
  struct Kept {
    AttentionPattern pattern;
    std::shared_ptr<const AttentionPlan> plan;
  };
  static std::mutex mutex;
  static std::vector<Kept> kept;
  const std::scoped_lock lock(mutex);
  for (const auto& one : kept)
    if (one.pattern == pattern && one.plan->tokens == tokens) return one.plan;
  pattern.validate();
  check(tokens > 0, "attention plan: {} tokens", tokens);
  constexpr size_t kMaxKept = 64;
  if (kept.size() == kMaxKept) kept.erase(kept.begin());
  kept.push_back({pattern, std::make_shared<AttentionPlan>(Planner(pattern, tokens).make())});
  return kept.back().plan;
}

}  // namespace vitrine::kernels
