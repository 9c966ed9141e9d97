#pragma once

#include <limits>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/train/metric.h"

namespace vitrine {

/// One line of metrics.jsonl.
struct MetricsLine {
  std::string kind;  // "step", "evaluation" (inside an epoch), "epoch" or "test"
  int64_t epoch = 0, step = 0;
  double time = 0;  // seconds since 1970
  Metrics values{};

  /// The value called `name`, or NaN.
  double value(const std::string& name) const { return metric_value(values, name); }
};

/// Appends lines to metrics.jsonl; a kill leaves at most the last line incomplete.
class MetricsFile {
 public:
  /// Keeps the first `keep_bytes` of an existing file (-1: all) and appends to them.
  MetricsFile(fs::path path, int64_t keep_bytes);
  void add(const MetricsLine& line);
  int64_t bytes() const;
  /// Waits until the disk has all lines.
  void sync() const;

 private:
  fs::path path_;
};

/// All complete lines of a metrics.jsonl. Of more than twice `steps` lines of kind "step" every
/// second, fourth, ... is kept, so that their number stays bounded however long a run is.
std::vector<MetricsLine> read_metrics(const fs::path& path,
                                      int64_t steps = std::numeric_limits<int64_t>::max() / 2);

}  // namespace vitrine
