#pragma once

#include <chrono>
#include <vector>

#include "vitrine/train/metrics.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/tensorboard.h"

namespace vitrine {

/// What people look at in a run folder while the run continues: the TensorBoard event file and the
/// curves. Both come from metrics.jsonl, so a resumed run's show no seam.
class RunRecords {
 public:
  /// Writes the event file from scratch from what metrics.jsonl holds already; `metrics` are those
  /// of the objective.
  RunRecords(const RunFolder& folder, std::vector<Metric> metrics);
  /// Takes note of a line that was just added to metrics.jsonl. Epochs redraw the curves, at most
  /// every ten seconds, and the test's does.
  void add(const MetricsLine& line);

 private:
  void write_events(const MetricsLine& line);

  RunFolder folder_;
  std::vector<Metric> metrics_;
  EventWriter events_;
  std::chrono::steady_clock::time_point drawn_{};
};

/// curves.png and curves.svg: each metric over the epochs. Of two that are always equal only the
/// latter is drawn.
void write_curves(const RunFolder& folder, const std::vector<Metric>& metrics);

}  // namespace vitrine
