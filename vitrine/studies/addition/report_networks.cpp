#include <algorithm>

#include "vitrine/studies/addition/figures.h"
#include "vitrine/studies/addition/report_writer.h"
#include "vitrine/studies/addition/source.h"

namespace vitrine {
namespace {

std::string right_sentence(const ReportWriter& writer, Adder adder,
                           const std::vector<TrainedAdder>& runs) {
  const auto& w = writer.words();
  std::vector<int64_t> right;
  for (const auto& run : runs) right.push_back(right_answers(run.answers));
  const auto [least, most] = std::minmax_element(right.begin(), right.end());
  if (*least == kAdditionPairs) return filled(w.all_right, writer.name(adder), runs.size());
  return filled(w.right_range, writer.name(adder), with_commas(*least), with_commas(*most),
                runs.size(), std::count(right.begin(), right.end(), kAdditionPairs));
}

double mean_of(const std::vector<TrainedAdder>& runs, double TrainedAdder::*figure) {
  double sum = 0;
  for (const auto& run : runs) sum += run.*figure;
  return sum / static_cast<double>(runs.size());
}

std::vector<std::string> tuned_findings(const ReportWriter& writer,
                                        const PerAdder<std::vector<TrainedAdder>>& runs) {
  std::vector<std::string> sentences;
  for (const auto adder : kAdders) {
    if (runs.of(adder).empty()) continue;
    sentences.push_back(right_sentence(writer, adder, runs.of(adder)));
    sentences.push_back(filled(writer.words().predict_time, writer.name(adder),
                               mean_of(runs.of(adder), &TrainedAdder::predict_milliseconds),
                               kSourceTuned.of(adder).predict_milliseconds));
  }
  return sentences;
}

using Runs = std::vector<std::vector<MetricsLine>>;

/// The last epoch of each run, averaged.
std::string last_loss_sentence(const ReportWriter& writer, Adder adder, const Runs& runs) {
  double loss = 0, epochs = 0, seconds = 0;
  for (const auto& run : runs) {
    const auto last = std::find_if(run.rbegin(), run.rend(),
                                   [](const MetricsLine& line) { return line.kind == "epoch"; });
    loss += last->value("train_loss");
    epochs += static_cast<double>(last->epoch);
    seconds += last->value("seconds");
  }
  const auto n = static_cast<double>(runs.size());
  return filled(writer.words().last_loss, writer.name(adder), loss / n, epochs / n, seconds / n,
                runs.size(), kSourceTuned.of(adder).loss, kSourceTuned.of(adder).epoch);
}

void write_loss(ReportWriter& writer, const PerAdder<std::vector<TrainedAdder>>& networks) {
  PerAdder<Runs> runs;
  for (const auto adder : kAdders)
    for (const auto& network : networks.of(adder))
      if (has_metrics(network)) runs.of(adder).push_back(read_metrics(network.metrics));
  if (runs.cnn.empty() && runs.transformer.empty()) return;
  const auto& w = writer.words();
  writer.question(w.loss_question);
  writer.figure("training_loss", loss_figure(runs, writer.language()), w.loss_caption);
  std::vector<std::string> sentences;
  for (const auto adder : kAdders)
    if (!runs.of(adder).empty())
      sentences.push_back(last_loss_sentence(writer, adder, runs.of(adder)));
  writer.findings(sentences);
}

}  // namespace

void write_tuned(ReportWriter& writer, const AdditionStudy& study) {
  if (!any_run(study.tuned)) return;
  const auto& w = writer.words();
  writer.section(w.tuned);
  writer.question(w.tuned_question);
  writer.table(tuned_table(study.tuned, writer.language()));
  writer.paragraph(w.tuned_source);
  writer.findings(tuned_findings(writer, study.tuned));
  write_loss(writer, study.tuned);
  writer.section(w.errors);
  write_errors(writer, study.tuned, "", table_words(writer.language()).tuned_networks);
}

void write_low_rate(ReportWriter& writer, const AdditionStudy& study) {
  if (!any_run(study.low_rate)) return;
  const auto& w = writer.words();
  writer.section(w.low_rate);
  writer.question(w.low_rate_question);
  writer.table(low_rate_table(study.low_rate, writer.language()));
  writer.paragraph(w.low_rate_source);
  std::vector<std::string> sentences;
  for (const auto adder : kAdders)
    if (!study.low_rate.of(adder).empty())
      sentences.push_back(right_sentence(writer, adder, study.low_rate.of(adder)));
  writer.findings(sentences);
  write_errors(writer, study.low_rate, "low_rate_",
               table_words(writer.language()).low_rate_networks);
  writer.paragraph(w.top_source);
}

}  // namespace vitrine
