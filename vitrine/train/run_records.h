#pragma once

#include <chrono>
#include <vector>

#include "vitrine/plot/figure.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/tensorboard.h"

namespace vitrine {

/// What people look at in a run folder while the run goes on: the TensorBoard event file and the
/// curves. Both come from metrics.jsonl, so a resumed run's show no seam.
class RunRecords {
 public:
  /// Writes the event file from scratch from what metrics.jsonl holds already; `metrics` are those
  /// of the objective, `selection` is the one that chooses the best checkpoint.
  RunRecords(const RunFolder& folder, std::vector<Metric> metrics, Metric selection);
  /// Takes note of a line that was just added to metrics.jsonl. Epochs redraw the curves, at most
  /// every ten seconds, and the test's does.
  void add(const MetricsLine& line);

 private:
  void write_events(const MetricsLine& line);

  RunFolder folder_;
  std::vector<Metric> metrics_;
  Metric selection_;
  EventWriter events_;
  std::chrono::steady_clock::time_point drawn_{};
};

/// The curves of metrics.jsonl: each metric over the epochs, with the epoch whose checkpoint is the
/// best by `selection` on the validation split marked. Of two metrics that are always equal only
/// the latter is drawn.
plot::Figure curves_figure(const std::string& title, const std::vector<MetricsLine>& lines,
                           const std::vector<Metric>& metrics, const Metric& selection);

}  // namespace vitrine
