#include "vitrine/inspect/explain/faithfulness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/csv.h"
#include "vitrine/core/error.h"

namespace vitrine {
namespace {

constexpr double kClear = 2;  // standard errors that make a difference clear

double standard_error(const MeanStd& s) {
  return s.count > 0 ? s.std / std::sqrt(static_cast<double>(s.count)) : 0;
}

/// "0.412 ± 0.020", without the error of a single image.
std::string with_error(const MeanStd& s) {
  return mean_std_text({s.mean, standard_error(s), s.count}, 3);
}

/// How much better one method's gain is than another's, image by image.
MeanStd lead(const FaithfulnessScore& one, const FaithfulnessScore& other) {
  std::vector<double> differences;
  for (size_t i = 0; i < one.gains.size(); ++i)
    differences.push_back(one.gains[i] - other.gains[i]);
  return mean_std(differences);
}

void add_curve(std::vector<double>& sum, const std::vector<double>& curve) {
  sum.resize(curve.size());
  for (size_t i = 0; i < curve.size(); ++i) sum[i] += curve[i];
}

double percent_removed(size_t step) {
  return 100.0 * static_cast<double>(step) / static_cast<double>(kPerturbationSteps);
}

}  // namespace

double area_under(const std::vector<double>& curve) {
  check(curve.size() > 1, "area_under: a curve of {} points", curve.size());
  double sum = -(curve.front() + curve.back()) / 2;
  for (const double value : curve) sum += value;
  return sum / static_cast<double>(curve.size() - 1);
}

std::vector<FaithfulnessScore> faithfulness(
    const std::vector<std::vector<PerturbationCurves>>& images) {
  check(!images.empty(), "faithfulness: there are no images");
  std::vector<FaithfulnessScore> scores;
  for (size_t m = 0; m < images.front().size(); ++m) {
    FaithfulnessScore score{.method = images.front()[m].method};
    std::vector<double> deletions, insertions;
    for (const auto& image : images) {
      const auto& curves = image.at(m);
      check(curves.method == score.method, "faithfulness: {} where {} was expected", curves.method,
            score.method);
      deletions.push_back(area_under(curves.deletion));
      insertions.push_back(area_under(curves.insertion));
      score.gains.push_back(insertions.back() - deletions.back());
      add_curve(score.deletion, curves.deletion);
      add_curve(score.insertion, curves.insertion);
    }
    for (auto* curve : {&score.deletion, &score.insertion})
      for (double& value : *curve) value /= static_cast<double>(images.size());
    score.deletion_area = mean_std(deletions);
    score.insertion_area = mean_std(insertions);
    scores.push_back(std::move(score));
  }
  const auto random = std::find_if(scores.begin(), scores.end(),
                                   [](const auto& score) { return score.method == kRandomOrder; });
  if (random == scores.end()) return scores;
  for (auto& score : scores)
    for (size_t i = 0; i < score.gains.size(); ++i)
      score.beats_random += score.gains[i] > random->gains[i];
  return scores;
}

std::string faithfulness_text(const std::vector<FaithfulnessScore>& scores) {
  std::vector<const FaithfulnessScore*> ranked;
  for (const auto& score : scores) ranked.push_back(&score);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto* a, const auto* b) {
    return mean_std(a->gains).mean > mean_std(b->gains).mean;
  });
  const auto& best = *ranked.front();
  const auto images = best.gains.size();
  auto text = fmt::format("By insertion minus deletion, the order on {} is: ",
                          counted(static_cast<int64_t>(images), "image"));
  for (const auto* score : ranked)
    text += fmt::format("{}{} ({:.3f})", score == &best ? "" : ", ", score->method,
                        mean_std(score->gains).mean);
  text += ".";
  if (ranked.size() < 2) return text;
  const auto& second = *ranked[1];
  const auto ahead = lead(best, second);
  if (images < 2)
    return text + " One image cannot show which method is the most faithful; give several.";
  text += fmt::format(" The first is ahead of the second by {} on average (image by image): ",
                      with_error(ahead));
  return text + (ahead.mean > kClear * standard_error(ahead)
                     ? fmt::format("on this model, {} is the most faithful of these.", best.method)
                     : "less than two standard errors, so these images do not tell them apart.");
}

plot::Table faithfulness_table(const std::vector<FaithfulnessScore>& scores) {
  plot::Table table{
      .title =
          "Mean probability of the class while parts disappear (deletion) or appear "
          "(insertion): area under the curve (AUC), mean over the images ± standard error",
      .header = {"order", "deletion AUC (lower is better)", "insertion AUC (higher is better)",
                 "insertion - deletion", "better than random"}};
  for (const auto& score : scores)
    table.rows.push_back({score.method, with_error(score.deletion_area),
                          with_error(score.insertion_area), with_error(mean_std(score.gains)),
                          score.method == kRandomOrder
                              ? "–"
                              : fmt::format("{} of {}", score.beats_random, score.gains.size())});
  return table;
}

plot::Figure faithfulness_figure(const std::vector<FaithfulnessScore>& scores) {
  plot::Chart deletion{.title = "Deletion: a faithful order falls early",
                       .x = {.label = "removed, most relevant first (%)", .low = 0, .high = 100},
                       .y = {.label = "probability of the class (%)", .low = 0, .high = 100}};
  auto insertion = deletion;
  insertion.title = "Insertion: a faithful order rises early";
  insertion.x.label = "shown, most relevant first (%)";
  for (const auto& score : scores) {
    const auto add = [&](plot::Chart& chart, const std::vector<double>& curve) {
      plot::Series series{
          .name = score.method,
          .stroke = score.method == kRandomOrder ? plot::Stroke::Dashed : plot::Stroke::Solid};
      for (size_t i = 0; i < curve.size(); ++i) {
        series.x.push_back(percent_removed(i));
        series.y.push_back(100 * curve[i]);
      }
      chart.series.push_back(std::move(series));
    };
    add(deletion, score.deletion);
    add(insertion, score.insertion);
  }
  return {.title = "Faithfulness of the explanations",
          .columns = 2,
          .panels = {deletion, insertion},
          .note = fmt::format("Mean over {}. Removed parts have the mean colour of preprocessing.",
                              counted(std::ssize(scores.front().gains), "image"))};
}

std::string faithfulness_csv(const std::vector<FaithfulnessScore>& scores) {
  auto text = csv_line({"method", "fraction", "deletion", "insertion"});
  for (const auto& score : scores)
    for (size_t i = 0; i < score.deletion.size(); ++i)
      text += csv_line({score.method, fmt::format("{:.2f}", percent_removed(i) / 100),
                        fmt::format("{:.6f}", score.deletion[i]),
                        fmt::format("{:.6f}", score.insertion[i])});
  return text;
}

}  // namespace vitrine
