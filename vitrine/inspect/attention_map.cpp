#include "vitrine/inspect/attention_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

std::string number(double multiple) {
  if (multiple > 0 && multiple < 0.005) return "<0.01";
  return fmt::format("{:.{}f}", multiple, multiple < 9.995 ? 2 : multiple < 99.95 ? 1 : 0);
}

}  // namespace

MultipleRange attention_map_range(const AttentionMap& map) {
  const auto& values = map.multiples.values;
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

bool attention_map_within(const AttentionMap& map, double factor) {
  const auto range = attention_map_range(map);
  return range.low >= 1 / factor && range.high <= factor;
}

bool near_uniform(const AttentionMap& map) { return attention_map_within(map, kNearUniform); }

std::string attention_range_text(const AttentionMap& map) {
  const auto range = attention_map_range(map);
  return fmt::format("{}–{} ×", number(range.low), number(range.high));
}

std::string describe_attention_map(const AttentionMap& map) {
  if (attention_map_range(map).high == 0) return "nothing above 0";
  return attention_range_text(map) + " uniform" +
         (near_uniform(map) ? ": close to uniform, not informative" : "");
}

plot::Matrix attention_on_scale(const AttentionMap& map) {
  auto values = map.multiples;
  for (double& value : values.values)
    value = std::clamp(std::log2(value), -kScaleDoublings, kScaleDoublings);
  return values;
}

int64_t attention_beyond_scale(const AttentionMap& map) {
  return std::count_if(map.multiples.values.begin(), map.multiples.values.end(),
                       [](double value) { return std::abs(std::log2(value)) > kScaleDoublings; });
}

plot::HeatMap scaled_map(const AttentionMap& map, const std::string& title, double size) {
  return {.title = title,
          .values = attention_on_scale(map),
          .colors = plot::ColorMap::BlueRed,
          .low = -kScaleDoublings,
          .high = kScaleDoublings,
          .size = size};
}

void add_attention_scale(plot::Figure& figure) {
  figure.shared_colors = true;
  figure.color_label = "× uniform";
  figure.color_ticks = {{-3, "≤ 1/8"}, {-2, "1/4"}, {-1, "1/2"}, {0, "1"},
                        {1, "2"},      {2, "4"},    {3, "≥ 8"}};
}

}  // namespace vitrine
