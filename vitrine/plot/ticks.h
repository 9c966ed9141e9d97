#pragma once

#include <string>
#include <vector>

namespace vitrine::plot {

/// The labelled places of an axis and the span it covers.
struct Ticks {
  double low = 0, high = 1;
  std::vector<double> at{};
  std::vector<std::string> labels{};
  std::vector<double> minor{};

  /// Where `value` lies between the ends, 0 .. 1.
  double position(double value) const;
  bool log = false;
};

/// Round numbers at or within `low` .. `high`, at most about `most`; the span stays as it is.
/// `whole` keeps to whole numbers.
Ticks linear_ticks(double low, double high, int most, bool whole = false);
/// Powers of ten (and their halves and fifths if few); `low` must be above 0.
Ticks log_ticks(double low, double high, int most);
/// The span widened to the round numbers around it.
void widen_to_round(double& low, double& high, int most, bool keep_low, bool keep_high);

}  // namespace vitrine::plot
