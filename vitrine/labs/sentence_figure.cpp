#include "vitrine/labs/sentence_figure.h"

#include <cmath>

namespace vitrine::labs {
namespace {

constexpr size_t kAnnotatedTokens = 8;  // numbers are written into maps up to this size

/// The weights with what a token may not see, the words to come, left out.
plot::Matrix visible_weights(plot::Matrix weights) {
  for (int64_t i = 0; i < weights.rows; ++i)
    for (int64_t j = i + 1; j < weights.columns; ++j) weights.values[i * weights.columns + j] = NAN;
  return weights;
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

}  // namespace vitrine::labs
