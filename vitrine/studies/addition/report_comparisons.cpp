#include "vitrine/studies/addition/figures.h"
#include "vitrine/studies/addition/report_writer.h"

namespace vitrine {
namespace {

AdditionArchitecture other(AdditionArchitecture architecture) {
  return architecture == AdditionArchitecture::Cnn ? AdditionArchitecture::Transformer
                                                   : AdditionArchitecture::Cnn;
}

double percent(const SharedPoint& point, AdditionArchitecture architecture) {
  return 100 * point.accuracy.of(architecture).mean;
}

std::string winner_sentence(const ReportWriter& writer, const std::vector<SharedPoint>& points) {
  const auto& w = writer.words();
  if (points.empty()) return w.rates_nothing_shared;
  const auto* cnn = strongest_lead(points, AdditionArchitecture::Cnn);
  const auto* transformer = strongest_lead(points, AdditionArchitecture::Transformer);
  if (cnn != nullptr && transformer != nullptr)
    return filled(w.rates_flip, cnn->value, percent(*cnn, AdditionArchitecture::Cnn),
                  percent(*cnn, AdditionArchitecture::Transformer), transformer->value,
                  percent(*transformer, AdditionArchitecture::Transformer),
                  percent(*transformer, AdditionArchitecture::Cnn));
  if (cnn == nullptr && transformer == nullptr) return w.rates_no_lead;
  const auto leader =
      cnn != nullptr ? AdditionArchitecture::Cnn : AdditionArchitecture::Transformer;
  const auto& point = cnn != nullptr ? *cnn : *transformer;
  return filled(w.rates_one_leads, writer.name(leader), point.value, percent(point, leader),
                percent(point, other(leader)));
}

std::vector<std::string> rate_findings(const ReportWriter& writer, const AdditionStudy& study) {
  const auto& w = writer.words();
  const auto points = shared_points(study.rates, kLearningRateKey);
  std::vector<std::string> sentences = {winner_sentence(writer, points)};
  PerArchitecture<const PointResult*> best{};
  for (const auto architecture : kArchitectures) {
    if (!study.rates.of(architecture)) continue;
    best.of(architecture) = best_point(*study.rates.of(architecture));
    if (best.of(architecture) == nullptr) continue;
    const auto accuracy = mean_std(*best.of(architecture), test_figure);
    sentences.push_back(filled(w.rates_best, writer.name(architecture),
                               setting_number(best.of(architecture)->point, kLearningRateKey),
                               100 * accuracy.mean, 100 * accuracy.std));
  }
  if (winner_flips(points))
    sentences.push_back(w.rates_conclusion);
  else if (best.cnn != nullptr && best.transformer != nullptr &&
           setting_number(best.cnn->point, kLearningRateKey) !=
               setting_number(best.transformer->point, kLearningRateKey))
    sentences.push_back(w.rates_differ);
  return sentences;
}

double training_percent(double held_out) { return 100 * (1 - held_out); }

/// The point with the smallest share of held-out pairs, or with the largest.
const PointResult* outermost(const SweepResult& sweep, bool smallest) {
  const PointResult* found = nullptr;
  for (const auto& point : sweep.points) {
    if (!measured(point, test_figure)) continue;
    if (found == nullptr || smallest == (setting_number(point.point, kHeldOutKey) <
                                         setting_number(found->point, kHeldOutKey)))
      found = &point;
  }
  return found;
}

std::vector<std::string> held_out_findings(
    const ReportWriter& writer, const PerArchitecture<std::optional<SweepResult>>& sweeps) {
  const auto& w = writer.words();
  std::vector<std::string> sentences;
  for (const auto architecture : kArchitectures) {
    if (!sweeps.of(architecture)) continue;
    const auto* few = outermost(*sweeps.of(architecture), /*smallest=*/false);
    const auto* many = outermost(*sweeps.of(architecture), /*smallest=*/true);
    if (few == many) continue;
    sentences.push_back(filled(w.held_out_ends, writer.name(architecture),
                               training_percent(setting_number(few->point, kHeldOutKey)),
                               100 * mean_std(*few, test_figure).mean,
                               training_percent(setting_number(many->point, kHeldOutKey)),
                               100 * mean_std(*many, test_figure).mean));
  }
  const auto points = shared_points(sweeps, kHeldOutKey);
  bool led = false;
  for (const auto architecture : kArchitectures)
    if (const auto* point = strongest_lead(points, architecture)) {
      led = true;
      sentences.push_back(filled(w.held_out_lead, writer.name(architecture),
                                 training_percent(point->value), percent(*point, architecture),
                                 percent(*point, other(architecture))));
    }
  if (!points.empty() && !led) sentences.push_back(w.held_out_no_lead);
  return sentences;
}

}  // namespace

void write_rates(ReportWriter& writer, const AdditionStudy& study) {
  if (!any_point(study.rates)) return;
  const auto& w = writer.words();
  writer.section(w.rates);
  writer.question(w.rates_question);
  writer.figure("learning_rate", learning_rate_figure(study.rates, writer.language()),
                w.rates_caption);
  if (const auto points = shared_points(study.rates, kLearningRateKey); !points.empty())
    writer.table(rates_table(points, writer.language()));
  writer.findings(rate_findings(writer, study));
}

void write_held_out(ReportWriter& writer, const AdditionStudy& study) {
  if (!any_point(study.held_out)) return;
  const auto& w = writer.words();
  writer.section(w.held_out);
  writer.question(w.held_out_question);
  writer.figure("held_out", held_out_figure(study.held_out, writer.language()), w.held_out_caption);
  if (const auto points = shared_points(study.held_out, kHeldOutKey); !points.empty())
    writer.table(held_out_table(points, writer.language()));
  writer.findings(held_out_findings(writer, study.held_out));
}

void write_small(ReportWriter& writer, const AdditionStudy& study) {
  if (!any_point(study.small)) return;
  const auto& w = writer.words();
  writer.section(w.small);
  writer.question(w.small_question);
  writer.table(small_table(study.small, writer.language()));
  std::vector<std::string> sentences;
  const auto add = [&](const std::string& pattern, AdditionArchitecture architecture,
                       const PointResult& point, double accuracy) {
    sentences.push_back(
        filled(pattern, writer.name(architecture), with_commas(parameters_of(point)),
               settings_text(point.point.settings), runs_with(point, accuracy), point.runs.size()));
  };
  for (const auto architecture : kArchitectures) {
    if (!has_points(study.small.of(architecture))) continue;
    const auto& sweep = *study.small.of(architecture);
    constexpr double kNearly = 0.99;
    const auto *perfect = smallest_point(sweep, 1), *nearly = smallest_point(sweep, kNearly);
    if (perfect != nullptr)
      add(w.small_all_right, architecture, *perfect, 1);
    else
      sentences.push_back(filled(w.small_none, writer.name(architecture)));
    if (nearly != nullptr && nearly != perfect) add(w.small_nearly, architecture, *nearly, kNearly);
  }
  writer.findings(sentences);
}

}  // namespace vitrine
