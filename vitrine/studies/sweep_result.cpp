#include "vitrine/studies/sweep_result.h"

namespace vitrine {

std::string SweepPoint::value(const std::string& key) const {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return "";
}

double test_figure(const RunOutcome& outcome) { return outcome.test_value(); }
double validation_figure(const RunOutcome& outcome) { return outcome.validation_value(); }
double test_loss_figure(const RunOutcome& outcome) { return outcome.test_loss(); }
double seconds_figure(const RunOutcome& outcome) { return outcome.seconds; }

MeanStd mean_std(const PointResult& point, const RunFigure& figure) {
  std::vector<double> values;
  for (const auto& run : point.runs)
    if (run.outcome) values.push_back(figure(*run.outcome));
  return mean_std(values);
}

}  // namespace vitrine
