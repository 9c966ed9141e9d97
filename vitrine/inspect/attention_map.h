#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/plot/figure.h"

namespace vitrine {

/// How a share of attention is spread over tokens.
struct AttentionMap {
  plot::Matrix multiples{};  // of uniform: 1 is what a token gets if all get the same
  int64_t tokens = 0;        // that share it; some may have no place on the map (a class token)
  double entropy = 1;        // divided by log(tokens): 1 is uniform, 0 is all on one token
};

/// The least and the greatest of the finite values.
struct MultipleRange {
  double low = 1, high = 1;
};
MultipleRange attention_map_range(const AttentionMap& map);

/// Whether every multiple lies within 1 / `factor` to `factor`.
bool attention_map_within(const AttentionMap& map, double factor);
/// Whether every multiple lies within 0.8 to 1.25, a fifth below and a quarter above uniform.
bool near_uniform(const AttentionMap& map);
inline constexpr double kNearUniform = 1.25;
inline constexpr double kWeak = 2;  // initial weights alone give maps of about this range

/// "0.94–1.18 ×".
std::string attention_range_text(const AttentionMap& map);
/// "0.94–1.18 × uniform: close to uniform, not informative", or the range alone; "nothing above 0"
/// for a map of zeros.
std::string describe_attention_map(const AttentionMap& map);

// One scale for all maps of all figures: logarithmic, from 1/8 of uniform to 8 times uniform. Maps
// that are close to uniform look so, whatever their own range is.

inline constexpr double kScaleDoublings = 3;

/// log2 of the multiples, those beyond the scale at its ends.
plot::Matrix attention_on_scale(const AttentionMap& map);
/// How many multiples lie beyond the scale.
int64_t attention_beyond_scale(const AttentionMap& map);
/// A panel in the colours of the scale.
plot::HeatMap scaled_map(const AttentionMap& map, const std::string& title, double size);
/// Gives the figure the scale's colour bar.
void add_attention_scale(plot::Figure& figure);

}  // namespace vitrine
