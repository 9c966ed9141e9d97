#pragma once

#include <chrono>

#include "vitrine/train/metrics.h"
#include "vitrine/train/report.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/tensorboard.h"

namespace vitrine {

/// What people look at in a run folder while the run goes on: the TensorBoard event file and the
/// curves. Both come from metrics.jsonl, so a resumed run's show no seam.
class RunRecords {
 public:
  /// Writes the event file anew from what metrics.jsonl holds already.
  explicit RunRecords(const RunFolder& folder);
  /// Takes note of a line that was just added to metrics.jsonl. Epochs redraw the curves, at most
  /// every ten seconds, and the test's does.
  void add(const MetricsLine& line);

 private:
  void write_events(const MetricsLine& line);

  RunFolder folder_;
  EventWriter events_;
  std::chrono::steady_clock::time_point drawn_{};
};

/// curves.png and curves.svg: each quantity that was measured, over the epochs.
void write_curves(const RunFolder& folder);

/// classification_report.txt, confusion_matrix.png and .svg.
void write_class_report(const RunFolder& folder, const ConfusionMatrix& matrix);

}  // namespace vitrine
