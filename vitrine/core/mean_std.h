#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace vitrine {

/// Mean and standard deviation (of a sample; 0 for a single value).
struct MeanStd {
  double mean = 0, std = 0;
  int64_t count = 0;
};

/// All zero if there are no values.
inline MeanStd mean_std(const std::vector<double>& values) {
  MeanStd s{.count = static_cast<int64_t>(values.size())};
  if (s.count == 0) return s;
  const auto n = static_cast<double>(s.count);
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  for (const double value : values) s.std += (value - s.mean) * (value - s.mean);
  s.std = s.count > 1 ? std::sqrt(s.std / (n - 1)) : 0;
  return s;
}

}  // namespace vitrine
