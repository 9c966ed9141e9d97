#include <fmt/format.h>

#include <map>

#include "vitrine/studies/addition/study.h"

namespace vitrine::addition {
namespace {

const std::map<std::string, Sweeps AdditionStudy::*> kSweepParts = {
    {"first", &AdditionStudy::first_sweep},
    {"second", &AdditionStudy::second_sweep},
    {"rates", &AdditionStudy::rates},
    {"held-out", &AdditionStudy::held_out},
    {"smallest", &AdditionStudy::small}};
const std::map<std::string, Networks AdditionStudy::*> kNetworkParts = {
    {"final", &AdditionStudy::tuned}, {"low-rate", &AdditionStudy::low_rate}};

void note_part(AdditionStudy& study, const std::string& part, Architecture architecture,
               SweepResult sweep) {
  for (auto& point : sweep.points)
    for (auto& run : point.runs) {
      if (run.failed()) continue;
      if (const auto networks = kNetworkParts.find(part); networks != kNetworkParts.end())
        (study.*networks->second).of(architecture).push_back(load_network(point, run));
      // What counts in this sweep are the pairs that were kept out of training; its test split, all
      // pairs, holds those of training, too.
      if (part == "held-out") run.outcome->test = run.outcome->validation;
      if (part == "final" && architecture == Architecture::Transformer &&
          study.attention.pair.empty() && run.stopped(StopReason::ReachedGoal))
        study.attention = study_attention(run.folder);
    }
  if (const auto sweeps = kSweepParts.find(part); sweeps != kSweepParts.end())
    (study.*sweeps->second).of(architecture) = std::move(sweep);
}

}  // namespace

AdditionStudy run_addition_study(const StudyOptions& options) {
  check_parts(options, "addition", addition_parts());
  AdditionStudy study;
  for (const auto& part : addition_parts())
    for (const auto architecture : kArchitectures) {
      const auto file = options.sweeps / fmt::format("{}-{}.yaml", name_of(architecture), part);
      if (auto sweep = run_part(options, part, file, part_config(options, file)))
        note_part(study, part, architecture, std::move(*sweep));
    }
  return study;
}

}  // namespace vitrine::addition
