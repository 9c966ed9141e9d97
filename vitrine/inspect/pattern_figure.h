#pragma once

#include "vitrine/core/attention_pattern.h"
#include "vitrine/plot/figure.h"

namespace vitrine {

/// Which token sees which, as a matrix, and what the token in the middle sees, laid out in rows of
/// one stride.
plot::Figure pattern_figure(const AttentionPattern& pattern, int64_t tokens);

/// The fraction of the pairs of a dense pattern with the same causality that this one allows.
double pattern_density(const AttentionPattern& pattern, int64_t tokens);

}  // namespace vitrine
