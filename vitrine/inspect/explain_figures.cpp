#include "vitrine/inspect/explain_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace vitrine {
namespace {

using plot::Chart;
using plot::Figure;
using plot::HeatMap;
using plot::ImagePanel;

constexpr int64_t kPositionMaps = 8;  // at most, per row and column
constexpr double kMapPanel = 224, kClassMapPanel = 254, kStripPanel = 130, kFilterPanel = 76;
constexpr int64_t kFilterColumns = 7;

/// "H 0.97; 0.94–1.18 ×".
std::string figures_of(const AttentionMap& map) {
  return fmt::format("H {:.2f}; {}", map.entropy, attention_range_text(map));
}

/// Leaves a panel's room white.
ImagePanel blank(double size) {
  Image white(1, 1);
  std::fill_n(white.at(0, 0), white.channels, uint8_t{255});
  return {.image = white, .size = size};
}

std::vector<const AttentionMap*> all_heads(const Explanation& e) {
  std::vector<const AttentionMap*> maps;
  for (const auto& layer : e.heads)
    for (const auto& map : layer) maps.push_back(&map);
  return maps;
}

/// What the colours of these maps mean and how many values the scale does not hold.
std::string scale_text(const std::vector<const AttentionMap*>& maps) {
  int64_t beyond = 0, values = 0;
  for (const auto* map : maps) {
    beyond += attention_beyond_scale(*map);
    values += static_cast<int64_t>(map->multiples.values.size());
  }
  return fmt::format(
      "Colours are the same in every figure: multiples of uniform, logarithmic from 1/8 to 8; {}.",
      beyond == 0 ? "no value lies beyond"
                  : fmt::format("{} of {} values lie beyond and have the colour of that end",
                                beyond, values));
}

/// A map over the image; what is uniform is transparent.
ImagePanel over_image(const Explanation& e, const AttentionMap& map, const std::string& title,
                      double size) {
  return {.title = title,
          .image = e.image,
          .heat = attention_on_scale(map),
          .colors = plot::ColorMap::BlueRed,
          .low = -kScaleDoublings,
          .high = kScaleDoublings,
          .alpha = 0.8,
          .fade = true,
          .smooth = false,
          .size = size};
}

std::string sentence_case(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::vector<std::string> numbered(const char* what, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("{} {}", what, i + 1));
  return names;
}

}  // namespace

std::string token_word(const Explanation& e) {
  return e.tokens && !e.tokens->overlap() ? "patch" : "token";
}

std::string token_words(const Explanation& e) {
  return token_word(e) + (e.tokens && !e.tokens->overlap() ? "es" : "s");
}

std::string tokens_text(const Explanation& e) {
  if (!e.tokens) return fmt::format("The image becomes {} x {} tokens.", e.rows, e.columns);
  const auto& t = *e.tokens;
  if (!t.overlap())
    return fmt::format(
        "The image, resized to {0} x {0} pixels, is cut into patches of {1} x {1} pixels: a grid "
        "of {2} x {3}.",
        e.input, t.field, t.rows, t.columns);
  return fmt::format(
      "An overlapping convolutional tokenizer makes {0} x {1} tokens of the image, resized to {2} "
      "x {2} pixels. Each token sees {3} x {3} pixels; neighbours are {4} pixels apart.",
      t.rows, t.columns, e.input, t.field, t.stride);
}

std::string query_text(const Explanation& e) {
  return e.class_token ? "the class token" : "the average query";
}

std::string readout_text(const Explanation& e) {
  switch (e.readout) {
    case Readout::Token:
      return e.class_token ? "the class token" : "one token";
    case Readout::Mean:
      return "the mean of all tokens";
    case Readout::Weighted:
      return "the sequence pooling";
  }
  return "";
}

std::string near_uniform_text(const Explanation& e) {
  const auto maps = all_heads(e);
  const auto count = [&](double factor) {
    return std::count_if(maps.begin(), maps.end(),
                         [&](const auto* map) { return attention_map_within(*map, factor); });
  };
  std::string text;
  if (const auto near = count(kNearUniform); near > 0)
    text =
        fmt::format("{} of {} maps lie within {:.2f}–{:.2f} ×: close to uniform, not informative. ",
                    near, maps.size(), 1 / kNearUniform, kNearUniform);
  if (const auto weak = count(kWeak); weak > 0)
    text += fmt::format("{} of {} lie within {:.2f}–{:.2f} ×: weak.", weak, maps.size(), 1 / kWeak,
                        kWeak);
  return text;
}

Figure prediction_figure(const Explanation& e) {
  Chart chart{.title = "Most likely classes",
              .y = {.label = "probability (%)", .low = 0, .high = 100},
              .width = 560};
  plot::Series bars{.mark = plot::Mark::Bars};
  for (const auto& p : e.predictions) {
    chart.x.names.push_back(p.label);
    bars.y.push_back(100 * p.probability);
  }
  chart.series = {bars};
  const auto& best = e.predictions.front();
  return {.title = fmt::format("{}: {} ({:.1f} %)", e.model, best.label, 100 * best.probability),
          .columns = 2,
          .panels = {ImagePanel{.title = "What the network sees", .image = e.image, .size = 280},
                     chart}};
}

Figure rollout_figure(const Explanation& e) {
  const auto& rollout = *e.map(ExplainMethod::Rollout);
  Figure figure{.title = fmt::format("Attention rollout: how much of each {} reaches {}",
                                     token_word(e), readout_text(e))};
  std::vector<const AttentionMap*> maps = {&rollout};
  figure.panels.push_back(ImagePanel{.title = "Image", .image = e.image, .size = kMapPanel});
  if (e.readout == Readout::Weighted) {
    figure.panels.push_back(
        scaled_map(e.pooling, "Pooling weights: " + figures_of(e.pooling), kMapPanel));
    maps.push_back(&e.pooling);
  }
  figure.panels.push_back(scaled_map(rollout, "Rollout: " + figures_of(rollout), kMapPanel));
  figure.panels.push_back(over_image(e, rollout, "Rollout over the image", kMapPanel));
  figure.columns = static_cast<int64_t>(figure.panels.size());
  add_attention_scale(figure);
  figure.note = fmt::format(
      "Rollout: {}. {} Over the image, 1 × is transparent. H: entropy divided by log {} (1 = "
      "uniform).",
      describe_attention_map(rollout), scale_text(maps), rollout.tokens);
  return figure;
}

Figure class_maps_figure(const Explanation& e) {
  Figure figure{.title = fmt::format("Evidence for {} ({:.1f} %)", e.target.label,
                                     100 * e.target.probability)};
  figure.panels.push_back(ImagePanel{.title = "Image", .image = e.image, .size = kClassMapPanel});
  std::vector<const AttentionMap*> maps;
  std::string ranges;
  for (const auto& [method, map] : e.maps) {
    if (method == ExplainMethod::Rollout) continue;
    const auto title = sentence_case(method_title(method));
    figure.panels.push_back(scaled_map(map, title + ": " + figures_of(map), kClassMapPanel));
    figure.panels.push_back(over_image(e, map, title + " over the image", kClassMapPanel));
    maps.push_back(&map);
    ranges += fmt::format("{}: {}. ", title, describe_attention_map(map));
  }
  figure.columns = static_cast<int64_t>(figure.panels.size());
  add_attention_scale(figure);
  figure.note = fmt::format("{}{} Over the image, 1 × is transparent.", ranges, scale_text(maps));
  return figure;
}

Figure strip_figure(const Explanation& e) {
  Figure figure;
  figure.panels.push_back(ImagePanel{.title = "image", .image = e.image, .size = kStripPanel});
  for (const auto& [method, map] : e.maps)
    figure.panels.push_back(over_image(e, map, method_title(method), kStripPanel));
  figure.columns = static_cast<int64_t>(figure.panels.size());
  return figure;
}

Figure attention_figure(const Explanation& e) {
  const size_t layers = e.heads.size();
  size_t heads = 0;
  for (const auto& layer : e.heads) heads = std::max(heads, layer.size());
  const bool layers_across = layers > heads;  // the longer side
  const size_t across = std::max(layers, heads), down = std::min(layers, heads);
  const auto layer_names = numbered("layer", layers), head_names = numbered("head", heads);
  Figure figure{.title = fmt::format("Attention of {} in every layer and head", query_text(e)),
                .columns = static_cast<int64_t>(across) + 1,
                .row_names = layers_across ? head_names : layer_names,
                .column_names = layers_across ? layer_names : head_names};
  figure.column_names.insert(figure.column_names.begin(), "image");
  const double size = across <= 4 ? 150 : across <= 8 ? 120 : 84;
  for (size_t row = 0; row < down; ++row) {
    figure.panels.push_back(ImagePanel{.image = e.image, .size = size});
    for (size_t column = 0; column < across; ++column) {
      const auto& layer = e.heads[layers_across ? column : row];
      const auto head = layers_across ? row : column;
      if (head < layer.size())
        figure.panels.push_back(scaled_map(layer[head], figures_of(layer[head]), size));
      else
        figure.panels.push_back(blank(size));
    }
  }
  add_attention_scale(figure);
  figure.note = fmt::format(
      "Weights of {} on the {}, times the number of tokens. Over each map H, the entropy of the "
      "weights{} divided by that of uniform attention (1 = uniform, 0 = a single token), and the "
      "least and the greatest multiple. {} {}",
      query_text(e), token_words(e), e.class_token ? "" : ", the mean over the queries,",
      scale_text(all_heads(e)), near_uniform_text(e));
  return figure;
}

Figure positions_figure(const Explanation& e) {
  const int64_t step = (std::max(e.rows, e.columns) + kPositionMaps - 1) / kPositionMaps;
  Figure figure{.title = "Cosine similarity of the positions",
                .shared_colors = true,
                .color_label = "cosine similarity"};
  for (int64_t r = step / 2; r < e.rows; r += step) {
    figure.row_names.push_back(fmt::format("row {}", r + 1));
    for (int64_t c = step / 2; c < e.columns; c += step) {
      if (figure.row_names.size() == 1)
        figure.column_names.push_back(fmt::format("col. {}", c + 1));
      const auto begin = e.positions.values.begin() + (r * e.columns + c) * e.rows * e.columns;
      figure.panels.push_back(
          HeatMap{.values = {e.rows, e.columns, {begin, begin + e.rows * e.columns}},
                  .high = 1,
                  .size = 88});
    }
  }
  figure.columns = static_cast<int64_t>(figure.column_names.size());
  return figure;
}

Figure filters_figure(const Explanation& e) {
  Figure figure{
      .title = "First layer: principal components of its filters",
      .columns = kFilterColumns,
      .note = fmt::format("{} x {} pixels each, the fraction of the variance over it. Grey is 0.",
                          e.filters.front().image.height, e.filters.front().image.width)};
  for (const auto& component : e.filters)
    figure.panels.push_back(ImagePanel{.title = fmt::format("{:.1f} %", 100 * component.variance),
                                       .image = component.image,
                                       .size = kFilterPanel});
  return figure;
}

}  // namespace vitrine
