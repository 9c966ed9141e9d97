#include "vitrine/labs/self_attention/figures.h"

#include <cmath>

namespace vitrine::labs::self_attention {
namespace {

constexpr size_t kAnnotatedTokens = 8;  // numbers are written into maps up to this size

/// The weights with what a token may not see, the words to come, left out.
plot::Matrix visible_weights(plot::Matrix weights) {
  for (int64_t i = 0; i < weights.rows; ++i)
    for (int64_t j = i + 1; j < weights.columns; ++j) weights.values[i * weights.columns + j] = NAN;
  return weights;
}

std::string model_title(const Lesson& lesson, const std::string& key, const SentenceModel& model) {
  return lesson.word(key, fmt::arg("sentence", kCatSentence),
                     fmt::arg("sentences", model.training().sentences),
                     fmt::arg("perplexity", model.training().perplexity));
}

std::vector<std::string> head_names(const Lesson& lesson, size_t heads) {
  std::vector<std::string> names;
  for (size_t h = 1; h <= heads; ++h)
    names.push_back(lesson.word("heads.head_short", fmt::arg("head", h)));
  return names;
}

plot::HeatMap variance_map(const Lesson& lesson, const SentenceAttention& sentence, size_t layer) {
  const auto labels = token_labels(lesson, sentence);
  return {.title = lesson.word("heads.variance_map", fmt::arg("layer", layer + 1)),
          .values = head_diversity(sentence.layers[layer]).variance,
          .row_names = labels,
          .column_names = labels,
          .x_label = lesson.word("heads.key"),
          .y_label = layer == 0 ? lesson.word("heads.query") : "",
          .low = 0,
          .annotate = true,
          .color_label = lesson.word("heads.variance"),
          .size = 240};
}

plot::Chart entropy_chart(const Lesson& lesson, const std::vector<LayerDiversity>& layers) {
  plot::Chart chart{.title = lesson.word("heads.entropy_chart"),
                    .x = {.names = head_names(lesson, layers.front().trained.heads.size())},
                    .y = {.label = lesson.word("heads.entropy_axis"), .low = 0, .high = 1.3},
                    .width = 240,
                    .height = 240};
  for (size_t i = 0; i < layers.size(); ++i) {
    plot::Series series{.name = lesson.word("heads.layer", fmt::arg("layer", i + 1)),
                        .mark = plot::Mark::Bars};
    for (const auto& head : layers[i].trained.heads) series.y.push_back(head.entropy);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

plot::Chart distance_chart(const Lesson& lesson, const std::vector<LayerDiversity>& layers) {
  plot::Series untrained{.name = lesson.word("heads.untrained"), .mark = plot::Mark::Bars};
  plot::Series trained{.name = lesson.word("heads.trained"), .mark = plot::Mark::Bars};
  plot::Chart chart{.title = lesson.word("heads.distance_chart"),
                    .y = {.label = lesson.word("heads.distance_axis"), .low = 0},
                    .width = 240,
                    .height = 240};
  for (size_t i = 0; i < layers.size(); ++i) {
    chart.x.names.push_back(lesson.word("heads.layer", fmt::arg("layer", i + 1)));
    untrained.y.push_back(layers[i].untrained.mean_distance);
    trained.y.push_back(layers[i].trained.mean_distance);
  }
  chart.series = {untrained, trained};
  return chart;
}

/// One figure of both layers over the length, on logarithmic axes.
plot::Chart chart_over_lengths(const Lesson& lesson, const std::string& key,
                               const CostCurves& costs, double LayerCost::*figure) {
  plot::Chart chart{.title = lesson.word("cost." + key),
                    .x = {.label = lesson.word("cost.length"), .log = true},
                    .y = {.label = lesson.word("cost." + key + "_axis"), .log = true},
                    .width = 340,
                    .height = 230};
  const auto add = [&](const std::string& name, const std::vector<LayerCost>& layer) {
    plot::Series series{
        .name = lesson.word(name, fmt::arg("exponent", cost_exponent(costs, layer, figure))),
        .markers = true};
    for (size_t i = 0; i < layer.size(); ++i) {
      series.x.push_back(static_cast<double>(costs.lengths[i]));
      series.y.push_back(layer[i].*figure);
    }
    chart.series.push_back(std::move(series));
  };
  add("cost.rnn_legend", costs.rnn);
  add("cost.attention_legend", costs.attention);
  return chart;
}

plot::Chart reach_chart(const Lesson& lesson, const ReachCurves& reach) {
  return {.title = lesson.word("cost.reach"),
          .x = {.label = lesson.word("cost.distance")},
          .y = {.label = lesson.word("cost.reach_axis"), .log = true},
          .series = {{.name = lesson.word("cost.rnn"), .x = reach.distance, .y = reach.rnn},
                     {.name = lesson.word("cost.attention"),
                      .x = reach.distance,
                      .y = reach.attention}},
          .width = 340,
          .height = 230};
}

}  // namespace

std::vector<std::string> token_labels(const Lesson& lesson, const SentenceAttention& sentence) {
  auto labels = sentence.tokens;
  labels.front() = lesson.word("heads.start");
  return labels;
}

plot::Figure head_figure(const Lesson& lesson, const SentenceAttention& sentence,
                         const std::string& title) {
  plot::Figure figure{.title = title};
  figure.columns = static_cast<int64_t>(sentence.layers.front().size());
  const auto labels = token_labels(lesson, sentence);
  for (size_t layer = 0; layer < sentence.layers.size(); ++layer)
    for (size_t head = 0; head < sentence.layers[layer].size(); ++head)
      figure.panels.push_back(plot::HeatMap{
          .title =
              lesson.word("heads.panel", fmt::arg("layer", layer + 1), fmt::arg("head", head + 1)),
          .values = visible_weights(sentence.layers[layer][head]),
          .row_names = labels,
          .column_names = labels,
          .x_label = layer + 1 == sentence.layers.size() ? lesson.word("heads.key") : "",
          .y_label = head == 0 ? lesson.word("heads.query") : "",
          .colors = plot::ColorMap::Blues,
          .low = 0,
          .high = 1,
          .annotate = labels.size() <= kAnnotatedTokens,
          .color_bar = head + 1 == sentence.layers[layer].size(),
          .color_label = lesson.word("heads.weight"),
          .size = 240,
      });
  return figure;
}

plot::Figure components_figure(const Lesson& lesson, const SentenceModel& model,
                               const SentenceAttention& sentence, const SelfAttentionParts& parts,
                               int64_t head) {
  plot::Figure figure{.title = model_title(lesson, "parts.figure", model), .columns = 3};
  const auto labels = token_labels(lesson, sentence);
  const auto add = [&](const std::string& key, const plot::Matrix& values, bool between_tokens) {
    const bool weights = key == "weights";
    figure.panels.push_back(plot::HeatMap{
        .title = lesson.word("parts." + key, fmt::arg("head", head + 1)),
        .values = values,
        .row_names = labels,
        .column_names = between_tokens ? labels : std::vector<std::string>{},
        .x_label = lesson.word(between_tokens ? "heads.key" : "parts.channel"),
        .y_label = lesson.word(between_tokens ? "heads.query" : "parts.word"),
        .colors = weights ? plot::ColorMap::Blues : plot::ColorMap::BlueRed,
        .low = weights ? std::optional<double>(0) : std::nullopt,
        .high = weights ? std::optional<double>(1) : std::nullopt,
        .annotate = between_tokens,
        .size = 290,
    });
  };
  add("queries", parts.queries, false);
  add("keys", parts.keys, false);
  add("values", parts.values, false);
  add("scores", parts.scores, true);
  add("weights", parts.weights, true);
  add("output", parts.output, false);
  return figure;
}

plot::Figure multi_head_figure(const Lesson& lesson, const SentenceModel& model,
                               const SentenceAttention& sentence,
                               const std::vector<LayerDiversity>& layers) {
  auto figure = head_figure(lesson, sentence, model_title(lesson, "heads.figure", model));
  for (size_t layer = 0; layer < sentence.layers.size(); ++layer)
    figure.panels.push_back(variance_map(lesson, sentence, layer));
  figure.panels.push_back(entropy_chart(lesson, layers));
  figure.panels.push_back(distance_chart(lesson, layers));
  return figure;
}

plot::Figure cost_figure(const Lesson& lesson, const CostCurves& costs, const ReachCurves& reach) {
  return {.title = lesson.word("cost.figure", fmt::arg("width", costs.width)),
          .columns = 2,
          .panels = {chart_over_lengths(lesson, "chain", costs, &LayerCost::chain),
                     chart_over_lengths(lesson, "time", costs, &LayerCost::milliseconds),
                     chart_over_lengths(lesson, "memory", costs, &LayerCost::megabytes),
                     reach_chart(lesson, reach)}};
}

}  // namespace vitrine::labs::self_attention
