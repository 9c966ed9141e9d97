#include "vitrine/plot/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vitrine::plot {
namespace {

/// 1, 2 or 5 times a power of ten, so that at most about `most` steps make the span.
double round_step(double span, int most) {
  const double least = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::string superscript(int exponent) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

std::string with_minus(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

std::string plain(double value, double step) {
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return with_minus(fmt::format("{:.{}f}", value, decimals));
}

/// Labels short enough for an axis: 0.25, 40k, 1.5M, 2·10⁻⁵.
std::vector<std::string> number_labels(const std::vector<double>& values, double step) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  std::vector<std::string> labels;
  for (const double value : values) {
    if (std::abs(value) < step / 2)
      labels.push_back("0");
    else if (largest >= 1e13 || step < 1e-4) {
      const int exponent = static_cast<int>(std::floor(std::log10(largest) + 1e-9));
      const double unit = std::pow(10.0, exponent);
      labels.push_back(plain(value / unit, step / unit) + "·10" + superscript(exponent));
    } else if (largest >= 1e9)
      labels.push_back(plain(value / 1e9, step / 1e9) + "G");
    else if (largest >= 1e6)
      labels.push_back(plain(value / 1e6, step / 1e6) + "M");
    else if (largest >= 1e4)
      labels.push_back(plain(value / 1e3, step / 1e3) + "k");
    else
      labels.push_back(plain(value, step));
  }
  return labels;
}

std::string log_label(double value) {
  if (value >= 0.999e-3 && value < 1.001e4) return fmt::format("{:g}", value);
  const int exponent = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  const double factor = std::round(value / std::pow(10.0, exponent));
  const auto power = "10" + superscript(exponent);
  return factor == 1 ? power : fmt::format("{:g}·{}", factor, power);
}

}  // namespace

double Ticks::position(double value) const {
  if (log) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

Ticks linear_ticks(double low, double high, int most, bool whole) {
  Ticks ticks{.low = low, .high = high};
  const double step = std::max(round_step(high - low, most), whole ? 1.0 : 0.0);
  const double slack = step * 1e-6;
  const auto first = static_cast<int64_t>(std::ceil((low - slack) / step));
  const auto last = static_cast<int64_t>(std::floor((high + slack) / step));
  for (int64_t i = first; i <= last; ++i) ticks.at.push_back(static_cast<double>(i) * step);
  ticks.labels = number_labels(ticks.at, step);
  return ticks;
}

Ticks log_ticks(double low, double high, int most) {
  Ticks ticks{.low = low, .high = high, .log = true};
  const double decades = std::log10(high / low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / most)));
  const std::vector<int> factors = decades <= 0.6   ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}
                                   : decades <= 1.5 ? std::vector<int>{1, 2, 5}
                                   : decades <= 0.5 * most ? std::vector<int>{1, 3}
                                                           : std::vector<int>{1};
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent)
    for (int factor = 1; factor < 10; ++factor) {
      const double value = factor * std::pow(10.0, exponent);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      const bool labelled = exponent % every == 0 &&
                            std::find(factors.begin(), factors.end(), factor) != factors.end();
      if (labelled) {
        ticks.at.push_back(value);
        ticks.labels.push_back(log_label(value));
      } else if (every == 1) {
        ticks.minor.push_back(value);
      }
    }
  if (ticks.at.size() < 2) {
    ticks.at = {low, high};
    ticks.labels = {fmt::format("{:.3g}", low), fmt::format("{:.3g}", high)};
  }
  return ticks;
}

void widen_to_round(double& low, double& high, int most, bool keep_low, bool keep_high) {
  const double step = round_step(high - low, most);
  if (!keep_low) low = std::floor(low / step + 1e-6) * step;
  if (!keep_high) high = std::ceil(high / step - 1e-6) * step;
}

}  // namespace vitrine::plot
