#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "vitrine/studies/addition/figures.h"
#include "vitrine/studies/addition/report_writer.h"

namespace vitrine {
namespace {

AnswersOfBoth answers_of(const PerArchitecture<std::vector<TrainedNetwork>>& runs) {
  AnswersOfBoth answers;
  for (const auto architecture : kArchitectures)
    for (const auto& run : runs.of(architecture)) answers.of(architecture).push_back(run.answers);
  return answers;
}

/// The run with the median number of right answers (of two, the lower).
const TrainedNetwork& middle_run(const std::vector<TrainedNetwork>& runs) {
  std::vector<const TrainedNetwork*> sorted;
  for (const auto& run : runs) sorted.push_back(&run);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* one, const auto* other) {
    return right_answers(one->answers) < right_answers(other->answers);
  });
  return *sorted[(sorted.size() - 1) / 2];
}

/// The share of the errors that are off by exactly `size`, to either side.
double share_off_by(const std::vector<DeviationCount>& errors, int size) {
  double share = 0;
  for (const auto& error : errors)
    if (std::abs(error.value) == size) share += error.share;
  return share;
}

std::vector<std::string> map_findings(const ReportWriter& writer, const AnswersOfBoth& answers) {
  const auto& w = writer.words();
  std::vector<std::string> sentences;
  for (const auto architecture : kArchitectures) {
    if (answers.of(architecture).empty()) continue;
    const auto errors = top_deviations(answers.of(architecture), kAdditionPairs);
    if (errors.empty()) {
      sentences.push_back(filled(w.nothing_wrong, writer.name(architecture)));
      continue;
    }
    const double tens = share_off_by(errors, 10), nineties = share_off_by(errors, 90);
    sentences.push_back(filled(w.map_tens, writer.name(architecture), 100 * tens, 100 * nineties,
                               100 * std::max(0.0, 1 - tens - nineties)));
    if (tens > 0.5) sentences.push_back(filled(w.map_mostly_carry, writer.name(architecture)));
  }
  return sentences;
}

void write_maps(ReportWriter& writer, const PerArchitecture<std::vector<TrainedNetwork>>& runs,
                const std::string& prefix) {
  const auto& w = writer.words();
  writer.question(w.map_question);
  for (const auto architecture : kArchitectures) {
    if (runs.of(architecture).empty()) continue;
    const auto& run = middle_run(runs.of(architecture));
    const auto* name =
        architecture == AdditionArchitecture::Cnn ? "errors_cnn" : "errors_transformer";
    writer.figure(
        fmt::format("{}{}", prefix, name),
        error_map_figure(run.answers, architecture, writer.language()),
        filled(w.map_caption, writer.name(architecture), run.seed, runs.of(architecture).size()));
  }
  writer.findings(map_findings(writer, answers_of(runs)));
}

std::vector<std::string> box_findings(const ReportWriter& writer, const AnswersOfBoth& answers) {
  const auto& w = writer.words();
  std::vector<std::string> sentences;
  bool flat = true;
  for (const auto architecture : kArchitectures) {
    const auto& runs = answers.of(architecture);
    if (runs.empty()) continue;
    ErrorStats sum;
    int64_t right = 0;
    for (const auto& run : runs) {
      const auto here = deviation_spread(run);
      sum.mean += here.mean;
      sum.std += here.std;
      right += right_answers(run);
    }
    const auto n = static_cast<double>(runs.size());
    flat = flat && static_cast<double>(right) > 0.75 * n * kAdditionPairs;
    const double mean = sum.mean / n;
    sentences.push_back(
        filled(w.box_spread, writer.name(architecture), rounded(mean), sum.std / n));
  }
  if (flat && any_wrong(answers)) sentences.push_back(w.box_flat);
  return sentences;
}

/// What `accuracy` leaves to 1, in %, as mean over the runs.
std::array<double, 3> wrong_percent(const std::vector<AdditionAnswers>& runs,
                                    std::array<double, 3> (*accuracy)(const AdditionAnswers&)) {
  std::array<double, 3> wrong{};
  for (const auto& run : runs) {
    const auto right = accuracy(run);
    for (size_t i = 0; i < wrong.size(); ++i)
      wrong[i] += 100 * (1 - right[i]) / static_cast<double>(runs.size());
  }
  return wrong;
}

std::vector<std::string> kinds_findings(const ReportWriter& writer, const AnswersOfBoth& answers) {
  const auto& w = writer.words();
  std::vector<std::string> sentences;
  for (const auto architecture : kArchitectures) {
    const auto& runs = answers.of(architecture);
    if (top_deviations(runs, 1).empty()) continue;
    const auto carries = wrong_percent(runs, accuracy_by_carries);
    sentences.push_back(
        filled(w.kinds_carries, writer.name(architecture), carries[0], carries[1], carries[2]));
    const auto digits = wrong_percent(runs, accuracy_by_digit);
    const auto worst = std::max_element(digits.begin(), digits.end());
    sentences.push_back(filled(w.kinds_digit, writer.name(architecture),
                               figure_words(writer.language()).digits[worst - digits.begin()],
                               *worst));
  }
  return sentences;
}

}  // namespace

void write_errors(ReportWriter& writer, const PerArchitecture<std::vector<TrainedNetwork>>& runs,
                  const std::string& prefix, const std::string& which) {
  const auto& w = writer.words();
  const auto answers = answers_of(runs);
  write_maps(writer, runs, prefix);
  writer.question(w.box_question);
  writer.figure(prefix + "deviations_box", deviation_box_figure(answers, writer.language()),
                w.box_caption);
  writer.findings(box_findings(writer, answers));
  if (!any_wrong(answers)) return;

  writer.question(w.top_question);
  writer.figure(prefix + "deviations_top", top_deviations_figure(answers, writer.language()),
                w.top_caption);
  writer.table(deviations_table(runs, which, writer.language()));
  writer.question(w.kinds_question);
  writer.figure(prefix + "error_kinds", error_kinds_figure(answers, writer.language()),
                w.kinds_caption);
  writer.findings(kinds_findings(writer, answers));
}

}  // namespace vitrine
