#include "vitrine/core/attention_pattern.h"

#include <cstdlib>

#include "vitrine/core/error.h"

namespace vitrine {

const Choices<PatternKind>& pattern_kind_names() {
  static const Choices<PatternKind> names = {{"dense", PatternKind::Dense},
                                             {"local", PatternKind::Local},
                                             {"strided", PatternKind::Strided},
                                             {"fixed", PatternKind::Fixed},
                                             {"longformer", PatternKind::Longformer}};
  return names;
}

const Choices<PatternFactor>& pattern_factor_names() {
  static const Choices<PatternFactor> names = {{"both", PatternFactor::Both},
                                               {"first", PatternFactor::First},
                                               {"second", PatternFactor::Second}};
  return names;
}

void AttentionPattern::visit(Fields& f) {
  f("kind", kind, pattern_kind_names(), "kind of attention pattern");
  f("stride", stride, "window, stride or block size of the pattern, in tokens");
  f("summary_tokens", summary_tokens,
    "fixed: tokens at the end of each block that all later ones attend to");
  f("offset", offset, "fixed: sub-blocks between the summary tokens and the end of the block");
  f("globals", globals, "longformer: number of global tokens, at the start of the sequence");
  f("factor", factor, pattern_factor_names(), "strided, fixed: one factor of the pattern or both");
  f("causal", causal, "no token attends to a later one");
  f("short_window", short_window,
    "a window has `stride` tokens with the token itself (OpenAI's code), not stride + 1 (the "
    "paper)");
}

void AttentionPattern::validate() const {
  check(stride > 0, "pattern: stride {} must be positive", stride);
  check(globals >= 0, "pattern: globals {} is negative", globals);
  if (kind == PatternKind::Fixed)
    check(summary_tokens > 0 && offset >= 0 && summary_tokens * (offset + 1) <= stride,
          "pattern: {} summaries of {} tokens do not fit a block of {}; choose a smaller "
          "summary_tokens",
          offset + 1, summary_tokens, stride);
}

bool AttentionPattern::first_factor(int64_t i, int64_t j) const {
  return kind == PatternKind::Fixed ? i / stride == j / stride : std::abs(i - j) <= reach();
}

bool AttentionPattern::second_factor(int64_t i, int64_t j) const {
  if (kind == PatternKind::Strided) return (i - j) % stride == 0;
  if (kind == PatternKind::Longformer) return i < globals || j < globals;
  const int64_t before_end = stride - 1 - j % stride;
  return before_end / summary_tokens == offset;
}

bool AttentionPattern::allows(int64_t i, int64_t j) const {
  if (causal && j > i) return false;
  switch (kind) {
    case PatternKind::Dense:
      return true;
    case PatternKind::Local:
      return first_factor(i, j);
    case PatternKind::Longformer:
      return first_factor(i, j) || second_factor(i, j);
    case PatternKind::Strided:
    case PatternKind::Fixed:
      return (factor != PatternFactor::Second && first_factor(i, j)) ||
             (factor != PatternFactor::First && second_factor(i, j));
  }
  fail("pattern: kind {} is not known", static_cast<int>(kind));
}

}  // namespace vitrine
