#include <algorithm>

#include "vitrine/studies/addition/figures.h"
#include "vitrine/studies/addition/report_writer.h"
#include "vitrine/studies/addition/source.h"

namespace vitrine {
namespace {

std::string right_sentence(const ReportWriter& writer, AdditionArchitecture architecture,
                           const std::vector<TrainedNetwork>& runs) {
  const auto& w = writer.words();
  std::vector<int64_t> right;
  for (const auto& run : runs) right.push_back(right_answers(run.answers));
  const auto [least, most] = std::minmax_element(right.begin(), right.end());
  if (*least == kAdditionPairs) return filled(w.all_right, writer.name(architecture), runs.size());
  return filled(w.right_range, writer.name(architecture), with_commas(*least), with_commas(*most),
                runs.size(), std::count(right.begin(), right.end(), kAdditionPairs));
}

double mean_of(const std::vector<TrainedNetwork>& runs, double TrainedNetwork::*figure) {
  double sum = 0;
  for (const auto& run : runs) sum += run.*figure;
  return sum / static_cast<double>(runs.size());
}

std::vector<std::string> tuned_findings(const ReportWriter& writer,
                                        const PerArchitecture<std::vector<TrainedNetwork>>& runs) {
  std::vector<std::string> sentences;
  for (const auto architecture : kArchitectures) {
    if (runs.of(architecture).empty()) continue;
    sentences.push_back(right_sentence(writer, architecture, runs.of(architecture)));
    sentences.push_back(
        filled(writer.words().predict_time, writer.name(architecture),
               mean_of(runs.of(architecture), &TrainedNetwork::predict_milliseconds),
               kSourceTuned.of(architecture).predict_milliseconds));
  }
  return sentences;
}

using Runs = std::vector<std::vector<MetricsLine>>;

/// The last epoch of each run, averaged.
std::string last_loss_sentence(const ReportWriter& writer, AdditionArchitecture architecture,
                               const Runs& runs) {
  double loss = 0, epochs = 0, seconds = 0;
  for (const auto& run : runs) {
    const auto last = std::find_if(run.rbegin(), run.rend(),
                                   [](const MetricsLine& line) { return line.kind == "epoch"; });
    loss += last->value("train_loss");
    epochs += static_cast<double>(last->epoch);
    seconds += last->value("seconds");
  }
  const auto n = static_cast<double>(runs.size());
  return filled(writer.words().last_loss, writer.name(architecture), loss / n, epochs / n,
                seconds / n, runs.size(), kSourceTuned.of(architecture).loss,
                kSourceTuned.of(architecture).epoch);
}

void write_loss(ReportWriter& writer,
                const PerArchitecture<std::vector<TrainedNetwork>>& networks) {
  PerArchitecture<Runs> runs;
  for (const auto architecture : kArchitectures)
    for (const auto& network : networks.of(architecture))
      if (has_metrics(network)) runs.of(architecture).push_back(read_metrics(network.metrics));
  if (runs.cnn.empty() && runs.transformer.empty()) return;
  const auto& w = writer.words();
  writer.question(w.loss_question);
  writer.figure("training_loss", loss_figure(runs, writer.language()), w.loss_caption);
  std::vector<std::string> sentences;
  for (const auto architecture : kArchitectures)
    if (!runs.of(architecture).empty())
      sentences.push_back(last_loss_sentence(writer, architecture, runs.of(architecture)));
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
  for (const auto architecture : kArchitectures)
    if (!study.low_rate.of(architecture).empty())
      sentences.push_back(right_sentence(writer, architecture, study.low_rate.of(architecture)));
  writer.findings(sentences);
  write_errors(writer, study.low_rate, "low_rate_",
               table_words(writer.language()).low_rate_networks);
  writer.paragraph(w.top_source);
}

}  // namespace vitrine
