#include "vitrine/plot/chart_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "vitrine/core/error.h"

namespace vitrine::plot {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kGroupWidth = 0.8;  // of the distance between two groups of bars
constexpr double kBoxWidth = 0.5;
constexpr int kMarkers[] = {7, 5, 9, 13, 11}, kRing = 6;
constexpr double kRingSize = 1.7;

std::vector<double> finite(const std::vector<double>& values) {
  std::vector<double> result;
  std::copy_if(values.begin(), values.end(), std::back_inserter(result),
               [](double v) { return std::isfinite(v); });
  return result;
}

void hide_what_a_log_axis_cannot_show(std::vector<double>& values) {
  for (double& value : values)
    if (!(value > 0)) value = kNaN;
}

void check_series(const Series& series, const std::string& who) {
  const auto name = series.name.empty() ? "a series" : fmt::format("series '{}'", series.name);
  check(!series.y.empty(), "{}: {} is empty", who, name);
  check(series.x.empty() || series.x.size() == series.y.size(), "{}: {} has {} x for {} y", who,
        name, series.x.size(), series.y.size());
  check(series.error.empty() || series.error.size() == series.y.size(),
        "{}: {} has {} errors for {} y", who, name, series.error.size(), series.y.size());
}

Shape plain_shape(const Series& series) {
  Shape shape;
  shape.x = series.x;
  shape.y = series.y;
  if (shape.x.empty()) {
    shape.x.resize(shape.y.size());
    std::iota(shape.x.begin(), shape.x.end(), 0);
  }
  for (size_t i = 0; i < series.error.size(); ++i) {
    shape.low.push_back(shape.y[i] - series.error[i]);
    shape.high.push_back(shape.y[i] + series.error[i]);
  }
  return shape;
}

/// The value below which `share` of the sorted samples lie, blended between neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Shape box_shape(const Series& series, double place) {
  Shape shape;
  auto samples = finite(series.y);
  std::sort(samples.begin(), samples.end());
  shape.x = {place};
  shape.width = kBoxWidth;
  if (samples.empty()) {
    shape.first_quartile = shape.median = shape.third_quartile = shape.least = shape.most = kNaN;
    return shape;
  }
  shape.first_quartile = quantile(samples, 0.25);
  shape.median = quantile(samples, 0.5);
  shape.third_quartile = quantile(samples, 0.75);
  const double reach = 1.5 * (shape.third_quartile - shape.first_quartile);
  shape.least = shape.first_quartile, shape.most = shape.third_quartile;
  for (const double sample : samples) {
    if (sample < shape.first_quartile - reach || sample > shape.third_quartile + reach) {
      shape.outliers.push_back(sample);
      continue;
    }
    shape.least = std::min(shape.least, sample);
    shape.most = std::max(shape.most, sample);
  }
  shape.y = {shape.least, shape.most};
  shape.y.insert(shape.y.end(), shape.outliers.begin(), shape.outliers.end());
  return shape;
}

/// Equal bins over all histograms of a chart.
struct Bins {
  double low = 0, width = 1;
  int64_t count = 1;

  Bins(const Chart& chart, const std::string& who) : count(chart.bins) {
    std::vector<double> samples;
    for (const auto& series : chart.series)
      if (series.mark == Mark::Histogram) {
        const auto some = finite(series.y);
        samples.insert(samples.end(), some.begin(), some.end());
      }
    if (samples.empty()) return;
    check(count > 0, "{}: a histogram needs at least 1 bin, not {}", who, count);
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    low = *least;
    width = (*most - *least) / static_cast<double>(count);
    if (width > 0) return;
    low -= 0.5;
    width = 1;
    count = 1;
  }
};

Shape histogram_shape(const Series& series, const Bins& bins) {
  Shape shape;
  shape.width = bins.width;
  shape.y.assign(bins.count, 0);
  for (int64_t i = 0; i < bins.count; ++i)
    shape.x.push_back(bins.low + (static_cast<double>(i) + 0.5) * bins.width);
  for (const double sample : finite(series.y)) {
    const auto bin = static_cast<int64_t>((sample - bins.low) / bins.width);
    ++shape.y[std::clamp<int64_t>(bin, 0, bins.count - 1)];
  }
  return shape;
}

/// Bars of several series stand side by side around their common place.
void place_bars(std::vector<Shape>& shapes) {
  std::vector<Shape*> bars;
  std::vector<double> places;
  for (auto& shape : shapes)
    if (shape.mark == Mark::Bars) {
      bars.push_back(&shape);
      places.insert(places.end(), shape.x.begin(), shape.x.end());
    }
  if (bars.empty()) return;
  places = finite(places);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  double distance = 1;
  for (size_t i = 1; i < places.size(); ++i)
    distance = i == 1 ? places[1] - places[0] : std::min(distance, places[i] - places[i - 1]);
  const double width = distance * kGroupWidth / static_cast<double>(bars.size());
  for (size_t i = 0; i < bars.size(); ++i) {
    bars[i]->width = width;
    for (double& x : bars[i]->x)
      x += (static_cast<double>(i) - static_cast<double>(bars.size() - 1) / 2) * width;
  }
}

bool stands_on_zero(const Shape& shape) {
  return shape.mark == Mark::Bars || shape.mark == Mark::Histogram;
}

}  // namespace

std::vector<Shape> chart_shapes(const Chart& chart, const std::string& who) {
  check(!chart.series.empty(), "{}: the chart has no series", who);
  for (const auto& series : chart.series) check_series(series, who);
  const Bins bins(chart, who);
  std::vector<Shape> shapes;
  int64_t boxes = 0, histograms = 0;
  for (const auto& series : chart.series) {
    Shape shape = series.mark == Mark::Box         ? box_shape(series, static_cast<double>(boxes++))
                  : series.mark == Mark::Histogram ? histogram_shape(series, bins)
                                                   : plain_shape(series);
    const auto index = static_cast<int64_t>(shapes.size());
    shape.name = series.name;
    shape.mark = series.mark;
    shape.stroke = series.stroke;
    shape.markers = series.markers;
    shape.rings = series.rings;
    shape.right = series.right;
    shape.color = series_color(series.color.value_or(index));
    shape.marker = series.rings ? kRing : kMarkers[index % std::size(kMarkers)];
    if (series.rings) shape.marker_size = kRingSize;
    histograms += series.mark == Mark::Histogram;
    if (chart.x.log) hide_what_a_log_axis_cannot_show(shape.x);
    if ((series.right ? chart.right : chart.y).log)
      for (auto* values : {&shape.y, &shape.low, &shape.high})
        hide_what_a_log_axis_cannot_show(*values);
    shapes.push_back(std::move(shape));
  }
  check(boxes == 0 || boxes == static_cast<int64_t>(shapes.size()),
        "{}: boxes cannot share a chart with other series", who);
  if (histograms > 1)
    for (auto& shape : shapes) shape.see_through = shape.mark == Mark::Histogram;
  place_bars(shapes);
  return shapes;
}

Span x_span(const std::vector<Shape>& shapes) {
  Span span{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const auto& shape : shapes)
    for (const double x : finite(shape.x)) {
      span.low = std::min(span.low, x - shape.width / 2);
      span.high = std::max(span.high, x + shape.width / 2);
    }
  return span;
}

Span y_span(const std::vector<Shape>& shapes, bool right, bool log) {
  Span span{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const auto& shape : shapes) {
    if (shape.right != right) continue;
    for (const auto* values : {&shape.y, &shape.low, &shape.high})
      for (const double y : finite(*values)) {
        span.low = std::min(span.low, y);
        span.high = std::max(span.high, y);
      }
    if (stands_on_zero(shape) && !log && span.low <= span.high) {
      span.low = std::min(span.low, 0.0);
      span.high = std::max(span.high, 0.0);
    }
  }
  return span;
}

}  // namespace vitrine::plot
