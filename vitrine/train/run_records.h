#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "vitrine/plot/figure.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/tensorboard.h"

namespace vitrine {

/// What people look at in a run folder while the run continues: the TensorBoard event files and the
/// curves. Both come from metrics.jsonl, so a resumed run's show no seam. For TensorBoard every
/// split is a run of its own (tensorboard/train, validation and test) with the same tags, so that
/// they share a chart; the folder above is their session on the HParams page.
class RunRecords {
 public:
  /// Writes the event files from scratch from what metrics.jsonl holds already; `metrics` are those
  /// of the objective, `selection` is the one that chooses the best checkpoint, `hparams` are the
  /// settings of the run.
  RunRecords(const RunFolder& folder, std::vector<Metric> metrics, Metric selection,
             const HParams& hparams);
  /// Takes note of a line that was just added to metrics.jsonl. Epochs redraw the curves, at most
  /// every ten seconds, and the test's does.
  void add(const MetricsLine& line);

 private:
  void write_events(const MetricsLine& line);
  EventWriter& events_of(const std::string& split);

  RunFolder folder_;
  std::vector<Metric> metrics_;
  Metric selection_;
  EventWriter session_;
  std::map<std::string, EventWriter> splits_;  // made when they get their first point
  std::chrono::steady_clock::time_point drawn_{};
};

/// The curves of metrics.jsonl: each metric over the epochs, with the epoch whose checkpoint is the
/// best by `selection` on the validation split marked. Of two metrics that are always equal only
/// the latter is drawn.
plot::Figure curves_figure(const std::string& title, const std::vector<MetricsLine>& lines,
                           const std::vector<Metric>& metrics, const Metric& selection);

}  // namespace vitrine
