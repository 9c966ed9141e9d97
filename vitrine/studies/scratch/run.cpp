#include "vitrine/core/error.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/studies/scratch/study.h"
#include "vitrine/studies/sweep_figure.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/weights/weight_shapes.h"

namespace vitrine::scratch {
namespace {

constexpr auto kRates = "rates";

RateRuns runs_of(const PointResult& point) {
  RateRuns runs{.rate = setting_number(point.point, kLearningRateKey), .point = point};
  for (const auto& run : point.runs)
    if (!run.failed())
      runs.loss.push_back(
          training_curve(read_metrics(RunFolder::open(run.folder).metrics()), kLossName));
  return runs;
}

}  // namespace

const std::vector<std::string>& scratch_parts() {
  static const std::vector<std::string> parts = {kRates};
  return parts;
}

const RateRuns* best_rate(const ScratchStudy& study) {
  const RateRuns* best = nullptr;
  double most = 0;
  for (const auto& runs : study.rates) {
    const auto value = measured(runs.point, validation_figure);
    if (!value || runs.point.any_failed() || (best != nullptr && value->mean <= most)) continue;
    best = &runs;
    most = value->mean;
  }
  return best;
}

ScratchStudy run_scratch_study(const StudyOptions& o) {
  constexpr double kMinute = 60;  // seconds
  check_parts(o, "scratch", scratch_parts());
  const auto file = o.sweeps / fmt::format("{}.yaml", kRates);
  auto config = part_config(o, file);
  if (o.smoke) set_smoke_images(config);
  const auto recipe =
      read_recipe(config.recipe.string(),
                  run_overrides(sweep_points(config)[0], config.seeds[0], config.budget));
  make_folder(o.out);
  ScratchStudy study{.minutes = config.budget / kMinute,
                     .parameters = summarize(recipe.model).parameters,
                     .dim = whole_numbers(recipe.model).at("dim"),
                     .batch = recipe.data.batch};
  if (const auto result = run_part(o, kRates, file, config))
    for (const auto* point : points_along(*result, kLearningRateKey, /*axis=*/""))
      study.rates.push_back(runs_of(*point));
  return study;
}

}  // namespace vitrine::scratch
