#include "vitrine/core/error.h"
#include "vitrine/studies/addition/figures.h"

namespace vitrine {
namespace {

plot::HeatMap heat_map(const AttentionMap& map, plot::ColorMap colors) {
  const auto tokens = static_cast<int64_t>(map.tokens.size());
  check(tokens > 0 && static_cast<int64_t>(map.weights.size()) == tokens * tokens,
        "addition: attention map '{}' has {} weights for {} tokens", map.title, map.weights.size(),
        tokens);
  return {.title = map.title,
          .values = {tokens, tokens, map.weights},
          .row_names = map.tokens,
          .column_names = map.tokens,
          .colors = colors,
          .annotate = true};
}

/// Layers from the top, heads from the left; labels of the axes only at the figure's edge.
plot::Figure grid(const std::string& title, const std::vector<AttentionMap>& maps, int64_t heads,
                  plot::ColorMap colors, const FigureWords& w) {
  const auto count = static_cast<int64_t>(maps.size());
  check(heads > 0 && count > 0 && count % heads == 0,
        "addition: {} attention maps cannot be laid out with {} heads per layer", count, heads);
  plot::Figure figure{.title = title, .columns = heads, .shared_colors = true};
  for (int64_t i = 0; i < count; ++i) {
    auto map = heat_map(maps[i], colors);
    if (i % heads == 0) map.y_label = w.looks_from;
    if (i + heads >= count) map.x_label = w.looks_at;
    figure.panels.push_back(std::move(map));
  }
  return figure;
}

}  // namespace

plot::Figure attention_figure(const AttentionStudy& study, Language language) {
  const auto& w = figure_words(language);
  auto figure = grid(filled(w.attention_title, study.a, study.b, study.a + study.b), study.pair,
                     study.heads, plot::ColorMap::Blues, w);
  for (auto& panel : figure.panels) {
    auto& map = std::get<plot::HeatMap>(panel);
    map.low = 0, map.high = 1;
  }
  figure.color_label = w.attention_weight;
  return figure;
}

plot::Figure carry_attention_figure(const AttentionStudy& study, Language language) {
  const auto& w = figure_words(language);
  auto figure =
      grid(w.carry_title, study.carry_difference, study.heads, plot::ColorMap::BlueRed, w);
  for (auto& panel : figure.panels)
    for (double& value : std::get<plot::HeatMap>(panel).values.values) value = rounded(value);
  figure.color_label = w.carry_difference;
  return figure;
}

}  // namespace vitrine
