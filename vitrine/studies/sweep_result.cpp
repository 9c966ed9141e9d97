#include "vitrine/studies/sweep_result.h"

namespace vitrine {

std::string SweepPoint::value(const std::string& key) const {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return "";
}

Spread spread(const PointResult& point, double RunResult::*figure) {
  std::vector<double> values;
  for (const auto& run : point.runs)
    if (run.end != RunEnd::Failed) values.push_back(run.*figure);
  return spread(values);
}

}  // namespace vitrine
