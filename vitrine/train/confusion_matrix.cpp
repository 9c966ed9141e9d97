#include "vitrine/train/confusion_matrix.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <utility>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Columns that fmt takes `text` for when it pads: Hangul has two per letter.
size_t columns(std::string_view text) {
  return 2 * text.size() - fmt::formatted_size("{:<{}}", text, text.size());
}

std::string row(std::string_view name, size_t width, const ClassScores& s) {
  return fmt::format("{:>{}}  {:>9.2f} {:>9.2f} {:>9.2f} {:>9}\n", name, width, s.precision,
                     s.recall, s.f1, s.support);
}

/// The sum of all class scores, each times its weight.
template <typename Weight>
ClassScores average(const ConfusionMatrix& matrix, Weight weight) {
  ClassScores mean{.support = matrix.total()};
  for (int64_t k = 0; k < matrix.size(); ++k) {
    const auto s = class_scores(matrix, k);
    const double w = weight(s);
    mean.precision += w * s.precision;
    mean.recall += w * s.recall;
    mean.f1 += w * s.f1;
  }
  return mean;
}

nlohmann::ordered_json to_json(const ClassScores& s) {
  return {{"precision", s.precision}, {"recall", s.recall}, {"f1", s.f1}, {"support", s.support}};
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::vector<std::string> class_names)
    : classes(std::move(class_names)), counts(classes.size() * classes.size()) {}

void ConfusionMatrix::add(int64_t truth, int64_t predicted) {
  for (const int64_t index : {truth, predicted})
    check(index >= 0 && index < size(), "confusion matrix: class {} is not one of the {} classes",
          index, size());
  ++counts[truth * size() + predicted];
}

int64_t ConfusionMatrix::at(int64_t truth, int64_t predicted) const {
  return counts.at(truth * size() + predicted);
}

int64_t ConfusionMatrix::total() const {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

double ConfusionMatrix::accuracy() const {
  int64_t right = 0;
  for (int64_t k = 0; k < size(); ++k) right += at(k, k);
  return ratio(right, total());
}

ClassScores class_scores(const ConfusionMatrix& matrix, int64_t index) {
  int64_t truly = 0, predicted = 0;
  for (int64_t k = 0; k < matrix.size(); ++k) {
    truly += matrix.at(index, k);
    predicted += matrix.at(k, index);
  }
  const int64_t right = matrix.at(index, index);
  return {.precision = ratio(right, predicted),
          .recall = ratio(right, truly),
          .f1 = ratio(2 * right, truly + predicted),
          .support = truly};
}

ClassScores macro_average(const ConfusionMatrix& matrix) {
  return average(matrix, [&](const ClassScores&) { return ratio(1, matrix.size()); });
}

ClassScores weighted_average(const ConfusionMatrix& matrix) {
  const int64_t total = matrix.total();
  return average(matrix, [&](const ClassScores& s) { return ratio(s.support, total); });
}

std::string classification_report(const ConfusionMatrix& matrix) {
  size_t width = std::string_view("weighted avg").size();
  for (const auto& name : matrix.classes) width = std::max(width, columns(name));
  auto text = fmt::format("{:>{}}  {:>9} {:>9} {:>9} {:>9}\n\n", "", width, "precision", "recall",
                          "f1-score", "support");
  for (int64_t k = 0; k < matrix.size(); ++k)
    text += row(matrix.classes[k], width, class_scores(matrix, k));
  text += fmt::format("\n{:>{}}  {:>9} {:>9} {:>9.2f} {:>9}\n", "accuracy", width, "", "",
                      matrix.accuracy(), matrix.total());
  text += row("macro avg", width, macro_average(matrix));
  text += row("weighted avg", width, weighted_average(matrix));
  return text;
}

std::string classification_report_json(const ConfusionMatrix& matrix) {
  auto classes = nlohmann::ordered_json::array(), rows = classes;
  for (int64_t k = 0; k < matrix.size(); ++k) {
    nlohmann::ordered_json entry = {{"name", matrix.classes[k]}};
    entry.update(to_json(class_scores(matrix, k)));
    classes.push_back(entry);
    const auto begin = matrix.counts.begin() + k * matrix.size();
    rows.push_back(std::vector<int64_t>(begin, begin + matrix.size()));
  }
  const nlohmann::ordered_json json = {{"accuracy", matrix.accuracy()},
                                       {"macro_avg", to_json(macro_average(matrix))},
                                       {"weighted_avg", to_json(weighted_average(matrix))},
                                       {"classes", classes},
                                       {"confusion_matrix", rows}};
  // A class is named by a folder, whose bytes need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

plot::HeatMap confusion_heat_map(const ConfusionMatrix& matrix, const std::string& split) {
  constexpr int64_t kMaxAnnotated = 30;
  const auto n = matrix.size();
  plot::HeatMap map{
      .title =
          fmt::format("{}: {:.2f} % of {} right", split, 100 * matrix.accuracy(), matrix.total()),
      .values = {n, n, {}},
      .row_names = matrix.classes,
      .column_names = matrix.classes,
      .x_label = "predicted class",
      .y_label = "true class",
      .colors = plot::ColorMap::Blues,
      .low = 0,
      .high = 1,
      .annotate = n <= kMaxAnnotated,
      .color_label = n <= kMaxAnnotated ? "fraction of the true class (numbers: examples)"
                                        : "fraction of the true class"};
  for (int64_t truth = 0; truth < n; ++truth) {
    const auto support = static_cast<double>(class_scores(matrix, truth).support);
    for (int64_t predicted = 0; predicted < n; ++predicted) {
      const auto count = matrix.at(truth, predicted);
      map.values.values.push_back(support > 0 ? static_cast<double>(count) / support
                                              : std::numeric_limits<double>::quiet_NaN());
      map.cell_text.push_back(support > 0 ? std::to_string(count) : "");
    }
  }
  return map;
}

}  // namespace vitrine
