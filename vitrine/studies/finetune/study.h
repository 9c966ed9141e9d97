#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/study.h"
#include "vitrine/train/metrics.h"

namespace vitrine {

class ModelChoice;

/// The texts of the study, text/CODE.yaml.
const report::TextSet& finetune_texts();

}  // namespace vitrine

namespace vitrine::finetune {

/// Images per second of the network at one side of its images.
struct SideSpeed {
  int64_t image = 0;
  double training = 0, inference = 0;
};

/// What the experiments are at full size, and the time there is for them.
struct PlanRequest {
  double hours = 0;
  std::vector<int64_t> epochs{};  // of each experiment
  int64_t runs = 4;               // of each: starts times seeds
  int64_t classes = 10;
  int64_t images = 0;                // training images that there are
  int64_t validation = 0, test = 0;  // images of these splits
};

/// The sizes at which the experiments fit the time.
struct Plan {
  std::string init{};
  double hours = 0;  // asked for
  int64_t threads = 0;
  std::vector<SideSpeed> speeds{};  // measured, largest side first
  int64_t image = 0;
  int64_t images = 0;             // training images
  std::vector<int64_t> epochs{};  // of each experiment
  double estimate = 0;            // hours that all runs will take
};

/// Chooses by measured speeds, largest side first: the largest images with which all epochs and at
/// least 250 training images per class fit; if there are none, the longest experiment gets fewer
/// epochs; at last the images per class are fewer, too, but never less than 20.
Plan make_plan(const PlanRequest& request, const std::vector<SideSpeed>& speeds);

/// The network's own side and the usual smaller ones that its patches divide, largest first.
std::vector<int64_t> image_sides(const ModelChoice& model);
/// The network at each of them, timed one by one.
std::vector<SideSpeed> measure_speeds(const ModelChoice& model);

/// One value per epoch of a run.
struct EpochCurves {
  std::vector<double> train_loss{}, train_accuracy{}, validation_loss{}, validation_accuracy{};
};

/// The curves in a run's metrics.jsonl.
EpochCurves epoch_curves(const std::vector<MetricsLine>& lines);

/// A run that ended.
struct TunedRun {
  int64_t seed = 0;
  RunOutcome outcome{};
  EpochCurves curves{};
};

/// The runs of one experiment that began alike, one per seed; those that failed are left out.
struct Start {
  std::vector<TunedRun> runs{};
  std::vector<std::string> failures{};
};

struct Experiment {
  std::string name{};
  Start pretrained{}, scratch{};
};

/// Everything the study found; experiments that have not been run are absent.
struct FinetuneStudy {
  std::string network{};  // its registered name
  int64_t parameters = 0;
  Plan plan{};
  std::vector<Experiment> experiments{};
};

/// The experiments, in the order in which they run.
const std::vector<std::string>& finetune_parts();

/// Plans the sizes (once per folder), then runs the experiments EXPERIMENT.yaml of `options.sweeps`
/// from `options.init` and from random weights, two seeds each. Continues where it stopped.
FinetuneStudy run_finetune_study(const StudyOptions& options);

void write_finetune_report(const FinetuneStudy& study, const fs::path& folder,
                           const std::vector<std::string>& languages);

}  // namespace vitrine::finetune
