#pragma once

#include <cmath>
#include <numeric>
#include <vector>

namespace vitrine::labs {

/// What several runs of the same training gave.
struct RunSummary {
  double mean = 0;
  double deviation = 0;  // standard deviation of a sample; 0 for a single run
};

inline RunSummary summary_of_runs(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  RunSummary summary{.mean = std::accumulate(values.begin(), values.end(), 0.0) / n};
  double squares = 0;
  for (const double v : values) squares += (v - summary.mean) * (v - summary.mean);
  if (values.size() > 1) summary.deviation = std::sqrt(squares / (n - 1));
  return summary;
}

}  // namespace vitrine::labs
