#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
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

/// Of several curves the statistics at each index, as far as the shortest goes.
inline std::vector<MeanStd> mean_std_by_index(const std::vector<std::vector<double>>& curves) {
  size_t length = curves.empty() ? 0 : curves[0].size();
  for (const auto& curve : curves) length = std::min(length, curve.size());
  std::vector<MeanStd> result;
  for (size_t i = 0; i < length; ++i) {
    std::vector<double> values;
    for (const auto& curve : curves) values.push_back(curve[i]);
    result.push_back(mean_std(values));
  }
  return result;
}

/// "98.20 ± 0.35", both times `scale`; the mean alone of a single value, "–" without a number.
inline std::string mean_std_text(const MeanStd& s, int decimals, double scale = 1) {
  if (s.count == 0 || !std::isfinite(s.mean)) return "–";
  double mean = scale * s.mean;
  if (std::abs(mean) < 0.5 * std::pow(10, -decimals)) mean = 0;  // never "-0.00"
  const auto text = fmt::format("{:.{}f}", mean, decimals);
  return s.count == 1 ? text : fmt::format("{} ± {:.{}f}", text, scale * s.std, decimals);
}

}  // namespace vitrine
