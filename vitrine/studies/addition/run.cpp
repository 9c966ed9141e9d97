#include "vitrine/studies/addition/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/nearest.h"
#include "vitrine/studies/addition/networks.h"
#include "vitrine/studies/sweep_runner.h"

namespace vitrine {
namespace {

const char* file_word(AdditionArchitecture architecture) {
  return architecture == AdditionArchitecture::Cnn ? "cnn" : "transformer";
}

/// Every run that did not fail, asked for all sums.
std::vector<TrainedNetwork> load_networks(const SweepResult& sweep) {
  std::vector<TrainedNetwork> architectures;
  for (const auto& point : sweep.points)
    for (const auto& run : point.runs)
      if (!run.failed()) architectures.push_back(load_network(point, run));
  return architectures;
}

/// What counts in this sweep are the pairs that were kept out of training; its test split, all
/// pairs, holds those of training, too.
SweepResult tested_on_held_out(SweepResult sweep) {
  for (auto& point : sweep.points)
    for (auto& run : point.runs)
      if (run.outcome) run.outcome->test = run.outcome->validation;
  return sweep;
}

/// The first run that came to its goal, if any.
const SweepRun* first_exact(const SweepResult& sweep) {
  for (const auto& point : sweep.points)
    for (const auto& run : point.runs)
      if (run.stopped(StopReason::ReachedGoal)) return &run;
  return nullptr;
}

void note_part(AdditionStudy& study, const std::string& part, AdditionArchitecture architecture,
               const SweepResult& sweep) {
  if (part == "first") study.first_sweep.of(architecture) = sweep;
  if (part == "second") study.second_sweep.of(architecture) = sweep;
  if (part == "rates") study.rates.of(architecture) = sweep;
  if (part == "held-out") study.held_out.of(architecture) = tested_on_held_out(sweep);
  if (part == "smallest") study.small.of(architecture) = sweep;
  if (part == "low-rate") study.low_rate.of(architecture) = load_networks(sweep);
  if (part != "final") return;
  study.tuned.of(architecture) = load_networks(sweep);
  if (architecture == AdditionArchitecture::Transformer)
    if (const auto* run = first_exact(sweep)) study.attention = study_attention(run->folder);
}

}  // namespace

const std::vector<std::string>& addition_parts() {
  static const std::vector<std::string> parts = {"final",    "low-rate", "rates", "held-out",
                                                 "smallest", "second",   "first"};
  return parts;
}

AdditionStudy run_addition_study(const AdditionStudyOptions& o) {
  const auto has = [](const std::vector<std::string>& list, const std::string& part) {
    return std::find(list.begin(), list.end(), part) != list.end();
  };
  for (const auto& part : o.parts)
    check_usage(has(addition_parts(), part), "study addition: part '{}' is not known{} (known: {})",
                part, did_you_mean(part, addition_parts()), fmt::join(addition_parts(), ", "));
  AdditionStudy study;
  for (const auto& part : addition_parts()) {
    for (const auto architecture : kArchitectures) {
      const auto file = o.sweeps / fmt::format("{}-{}.yaml", file_word(architecture), part);
      const auto config = o.smoke ? smoke_size(read_sweep(file)) : read_sweep(file);
      SweepOptions options{.out = o.out / "sweeps",
                           .workers = o.workers,
                           .command = "vitrine sweep " + file.string()};
      options.only_stored = interrupted() || (!o.parts.empty() && !has(o.parts, part));
      if (!options.only_stored) fmt::print(stderr, "{}\n", file.string());
      const auto sweep = run_sweep(config, options);
      if (is_complete(sweep, config)) note_part(study, part, architecture, sweep);
    }
  }
  return study;
}

}  // namespace vitrine
