#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/progress.h"
#include "vitrine/studies/sparse/report_page.h"

namespace vitrine::sparse {
namespace {

struct PartWords {
  std::string part, heading, question;
};

const std::vector<PartWords> kWords = {
    {"patterns", "Patterns", "Which pattern learns most in the same time?"},
    {"orders", "Order of the bytes",
     "R0 G0 B0 R1 ... (interleaved), or all R, all G, all B (planar)?"},
    {"strides", "Stride",
     "How far may the pattern reach? sqrt(3072) is 55.4; one row of pixels has 96 bytes."},
    {"best", "The long run",
     "How far does a small network come in an hour? The paper's network of 128 layers has 2.80 "
     "bits per dim after 120 epochs."}};

const PartWords& words_of(const std::string& part) {
  return *std::find_if(kWords.begin(), kWords.end(),
                       [&](const PartWords& words) { return words.part == part; });
}

constexpr int64_t kBins = 40;

/// The curves of all runs from some moment of training on.
plot::Chart curves_chart(const TrainedPart& trained, double from, const std::string& title) {
  plot::Chart chart{.title = title,
                    .x = {.label = "training time (s)"},
                    .y = {.label = "bits per dim"},
                    .width = 440,
                    .height = 320};
  int64_t color = 0;
  for (const auto& run : trained.runs) {
    if (!run.error.empty()) continue;
    const auto series = [&](const Curve& curve) {
      plot::Series s{.color = color};
      for (size_t i = 0; i < curve.seconds.size(); ++i) {
        if (curve.seconds[i] < from) continue;
        s.x.push_back(curve.seconds[i]);
        s.y.push_back(curve.bits[i]);
      }
      return s;
    };
    auto line = series(binned(run.curves.training, kBins)), dots = series(run.curves.validation);
    dots.mark = plot::Mark::Points;
    (line.x.empty() ? dots : line).name = run.name;
    for (auto& s : {line, dots})
      if (!s.x.empty()) chart.series.push_back(s);
    ++color;
  }
  return chart;
}

void write_curves(ReportPage& page, const std::string& part, const TrainedPart& trained) {
  double longest = 0;
  for (const auto& run : trained.runs) longest = std::max(longest, run.curves.seconds);
  plot::Figure figure{.title = words_of(part).heading, .columns = 2};
  for (const auto& chart : {curves_chart(trained, 0, "the whole training"),
                            curves_chart(trained, longest / 2, "its second half")})
    if (!chart.series.empty()) figure.panels.push_back(chart);
  if (figure.panels.empty()) return;
  page.figure("training-" + part, figure,
              fmt::format("Lines: training batches, each point the mean of all logged steps in "
                          "1/{} of the time. Dots: the validation part.",
                          kBins));
}

std::string bits_text(double bits) {
  return std::isfinite(bits) ? fmt::format("{:.4f}", bits) : "–";
}

plot::Table runs_table(const TrainedPart& trained) {
  plot::Table table{
      .title = "All runs",
      .header = {trained.key.substr(trained.key.find('.') + 1), "pairs (%)", "updates",
                 "training (s)", "best validation (bits per dim)", "test (bits per dim)"}};
  for (const auto& run : trained.runs) {
    if (!run.error.empty()) {
      table.rows.push_back({run.name + ", failed: " + run.error, "–", "–", "–", "–", "–"});
      continue;
    }
    table.rows.push_back({run.name, fmt::format("{:.2f}", 100 * run.pair_share),
                          fmt::format("{}", run.curves.updates),
                          fmt::format("{:.0f}", run.curves.seconds), bits_text(run.best_validation),
                          bits_text(run.test)});
  }
  return table;
}

/// Runs with a test score, the lowest first.
std::vector<const TrainedRun*> ranked(const TrainedPart& trained) {
  std::vector<const TrainedRun*> runs;
  for (const auto& run : trained.runs)
    if (std::isfinite(run.test)) runs.push_back(&run);
  std::sort(runs.begin(), runs.end(),
            [](const auto* a, const auto* b) { return a->test < b->test; });
  return runs;
}

std::string updates_sentence(const std::vector<const TrainedRun*>& runs) {
  const auto [fewest, most] = std::minmax_element(
      runs.begin(), runs.end(),
      [](const auto* a, const auto* b) { return a->curves.updates < b->curves.updates; });
  const auto least = (*fewest)->curves.updates, highest = (*most)->curves.updates;
  if (least == highest) return fmt::format("All made {} updates.", least);
  return fmt::format("{} made the fewest updates ({}), {} the most ({}).", (*fewest)->name, least,
                     (*most)->name, highest);
}

std::string ranking(const std::vector<const TrainedRun*>& runs) {
  const auto& first = *runs[0];
  if (runs.size() == 1)
    return fmt::format(
        "{:.3f} bits per dim on the validation part and {:.3f} on the test part, after {} "
        "updates in {}.",
        first.best_validation, first.test, first.curves.updates,
        duration_text(first.curves.seconds));
  std::vector<std::string> others;
  for (size_t i = 1; i < runs.size(); ++i)
    others.push_back(fmt::format("{} (+{:.3f})", runs[i]->name, runs[i]->test - first.test));
  return fmt::format(
      "lowest on the test part is {} with {:.3f} bits per dim, then {}. {} One seed each: "
      "small differences may be chance.",
      first.name, first.test, fmt::join(others, ", "), updates_sentence(runs));
}

}  // namespace

void write_trained(ReportPage& page, const std::string& part, const TrainedPart& trained) {
  page.section(words_of(part).heading, part);
  page.paragraph(words_of(part).question);
  auto how = fmt::format("{:g} s of training with {} thread(s) for each run.", trained.budget,
                         trained.threads);
  if (std::any_of(trained.runs.begin(), trained.runs.end(),
                  [](const auto& run) { return run.over_budget; }))
    how +=
        " A run that its time stops is scored on as many images, drawn at random, as a quarter "
        "of that time allows.";
  page.paragraph(how);
  write_curves(page, part, trained);
  page.table(runs_table(trained));
  if (const auto runs = ranked(trained); !runs.empty()) page.finding(ranking(runs));
}

}  // namespace vitrine::sparse
