#include "vitrine/studies/sweep_result.h"

#include <cmath>

namespace vitrine {

std::string SweepPoint::value(const std::string& key) const {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return "";
}

Spread spread(const PointResult& point, double RunResult::*figure) {
  Spread s;
  for (const auto& run : point.runs) {
    if (run.end == RunEnd::Failed) continue;
    s.mean += run.*figure;
    ++s.count;
  }
  if (s.count == 0) return s;
  s.mean /= static_cast<double>(s.count);
  for (const auto& run : point.runs)
    if (run.end != RunEnd::Failed) s.std += std::pow(run.*figure - s.mean, 2);
  s.std = s.count > 1 ? std::sqrt(s.std / static_cast<double>(s.count - 1)) : 0;
  return s;
}

}  // namespace vitrine
