#pragma once

#include <cstdint>

#include "vitrine/core/fields.h"

namespace vitrine {

/// Which tokens a token may attend to.
enum class PatternKind { Dense, Local, Strided, Fixed, Longformer };
const Choices<PatternKind>& pattern_kind_names();

/// Strided and fixed patterns have two factors; a layer or head has one of them or both at once.
enum class PatternFactor { Both, First, Second };
const Choices<PatternFactor>& pattern_factor_names();

/// The one definition of every pattern. `l` is the stride, `i` the query, `j` the key:
///   dense       every j
///   local       i - l <= j <= i + l
///   strided     first: as local; second: (i - j) mod l = 0
///   fixed       first: j / l = i / l; second: j mod l in the `summary_tokens` before the block's
///   end,
///               `offset` such sub-blocks further to the front
///   longformer  as local, or i or j is one of the first `globals` tokens
/// A causal pattern leaves out every j > i. With `short_window`, "as local" is i - l < j < i + l: a
/// causal window of l tokens, as in OpenAI's code, where the paper's has l + 1.
struct AttentionPattern {
  PatternKind kind = PatternKind::Dense;
  int64_t stride = 64;
  int64_t summary_tokens = 8;
  int64_t offset = 0;
  int64_t globals = 1;
  PatternFactor factor = PatternFactor::Both;
  bool causal = true;
  bool short_window = false;

  void visit(Fields& f);
  void validate() const;
  /// Whether token i may attend to token j.
  bool allows(int64_t i, int64_t j) const;
  bool operator==(const AttentionPattern&) const = default;

  /// How far from itself a token attends in a window.
  int64_t reach() const { return short_window ? stride - 1 : stride; }
  /// The factors alone, causality aside.
  bool first_factor(int64_t i, int64_t j) const;
  bool second_factor(int64_t i, int64_t j) const;
};

}  // namespace vitrine
