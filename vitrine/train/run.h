#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "vitrine/core/files.h"
#include "vitrine/train/config.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/run_result.h"

namespace vitrine {

class Model;
class WorkerGroup;
struct Splits;

/// Where and how an experiment runs; but for threads and device nothing here changes its bits.
struct RunOptions {
  std::string device = "cpu";
  /// 0 = all cores, or for a resumed run as many as it began with; absent: as the process has them.
  std::optional<int64_t> threads = 0;
  fs::path out = "runs";              // the run folder is OUT/NAME-DATE-TIME,
  fs::path folder{};                  // or exactly this if it is given
  fs::path cache = "cache/features";  // of feature maps and of a teacher's logits
  bool show_progress = true;
  bool write_reports = true;  // model summary, event file, curves and the objective's report

  /// The processes that share the work; rank 0 alone writes and speaks. Null: this one alone.
  const WorkerGroup* group = nullptr;

  const Splits* data = nullptr;  // opened already; null: opened as the recipe says
  std::shared_ptr<Model>
      model{};  // built already (`build_for_training`); null: built here, from `init`

  /// Called with each line for people: the folder, notes, one line per epoch, the result.
  std::function<void(const std::string&)> on_message = {};
  /// Called with each line that is added to metrics.jsonl.
  std::function<void(const MetricsLine&)> on_metrics = {};
};

/// Runs an experiment: opens the data, builds the model, trains in a new run folder, tests the best
/// checkpoint, writes reports and result.json. Nothing is written before recipe, data and model
/// have proved to fit. A run that is interrupted has no test metrics and can be resumed; if its
/// first feature maps were being computed, it has no folder yet.
RunOutcome run_recipe(const Recipe& recipe, const RunOptions& options);

/// Resumes the run in this folder, by its own recipe, and ends it likewise.
RunOutcome resume_run(const fs::path& folder, const RunOptions& options);

}  // namespace vitrine
