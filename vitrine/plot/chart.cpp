#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/plot/chart_data.h"
#include "vitrine/plot/chart_plot.h"
#include "vitrine/plot/legend.h"
#include "vitrine/plot/names.h"
#include "vitrine/plot/panel.h"
#include "vitrine/plot/text.h"
#include "vitrine/plot/ticks.h"

namespace vitrine::plot {
namespace {

constexpr double kAxisGap = 6, kLegendMargin = 6;

/// The span of an axis: what was asked for, else what the data need and a little air.
Span axis_span(const Axis& axis, Span data, double air, const std::string& who) {
  if (axis.log) {
    const double factor = std::pow(data.high / data.low, air);
    data = {data.low / factor, data.high * factor};
    if (data.low == data.high) data = {data.low / 2, data.high * 2};
  } else if (data.low == data.high) {
    const double half = data.low == 0 ? 0.5 : std::abs(data.low) / 2;
    data = {data.low - half, data.high + half};
  } else {
    const double margin = (data.high - data.low) * air;
    data = {data.low - margin, data.high + margin};
  }
  const Span span{axis.low.value_or(data.low), axis.high.value_or(data.high)};
  check(span.low < span.high, "{}: axis '{}' runs from {} to {}", who, axis.label, span.low,
        span.high);
  check(!axis.log || span.low > 0, "{}: logarithmic axis '{}' cannot start at {}", who, axis.label,
        span.low);
  return span;
}

Ticks y_ticks(const Axis& axis, Span data, double height, const std::string& who) {
  const int most = std::max(2, static_cast<int>(height / 40));
  auto span = axis_span(axis, data, axis.log ? 0.03 : 0, who);
  if (axis.log) return log_ticks(span.low, span.high, most);
  widen_to_round(span.low, span.high, most, axis.low.has_value(), axis.high.has_value());
  return linear_ticks(span.low, span.high, most);
}

bool all_whole(const std::vector<Shape>& shapes) {
  for (const auto& shape : shapes)
    for (const double x : shape.x)
      if (std::isfinite(x) && x != std::round(x)) return false;
  return true;
}

/// As many numbers under the axis as fit side by side.
Ticks x_ticks(const Axis& axis, Span span, double width, bool whole) {
  for (int most = std::max(2, static_cast<int>(width / 45));; --most) {
    auto ticks = axis.log ? log_ticks(span.low, span.high, most)
                          : linear_ticks(span.low, span.high, most, whole);
    if (most <= 2 || (widest_name(ticks.labels) + 12) * ticks.labels.size() < width) return ticks;
  }
}

class ChartPlan : public PanelPlan {
 public:
  ChartPlan(const Chart& chart, const std::string& who)
      : chart_(chart), shapes_(chart_shapes(chart, who)), legend_(shapes_) {
    names_ = short_names(chart.x.names);
    if (shapes_.front().mark == Mark::Box && names_.empty()) {
      for (const auto& shape : shapes_) names_.push_back(shape.name);
      names_ = short_names(names_);
    }
    set_axes(who);
    corner_ = free_corner();
    if (corner_ == Corner::Below) legend_.spread_over(chart.width);
  }

  Extent extent() const override {
    Extent e{.width = chart_.width, .height = chart_.height};
    e.left = kAxisGap + widest_name(y_.labels);
    if (!names_.empty()) e.left = std::max(e.left, name_row(chart_.width).overhang());
    e.left += y_label().room();
    e.right = right_axis_room();
    // Half of the last number sticks out.
    if (e.right == 0 && names_.empty()) e.right = widest_name(x_.labels) / 2;
    e.top = std::max(title_height(chart_.title, chart_.width, kPanelTitle), kSmallText / 2);
    e.bottom =
        kAxisGap + (names_.empty() ? kSmallText * kLineHeight : name_row(chart_.width).height());
    e.bottom += x_label().room();
    if (corner_ == Corner::Below) e.bottom += kLegendMargin + legend_.height();
    return e;
  }

  void draw(Canvas& canvas, const Rect& inner) const override {
    draw_shapes(canvas, inner, shapes_, {x_, y_, right_, !names_.empty()});
    draw_numbers(canvas, inner);
    draw_labels(canvas, inner);
    draw_title(canvas, inner, chart_.title, chart_.width, kPanelTitle);
    if (legend_.empty()) return;
    if (corner_ == Corner::Below) {
      legend_.draw(canvas, inner.middle_x() - legend_.width() / 2,
                   inner.bottom() + extent().bottom - legend_.height());
      return;
    }
    const bool left = corner_ == Corner::TopLeft || corner_ == Corner::BottomLeft;
    const bool low = corner_ == Corner::BottomLeft || corner_ == Corner::BottomRight;
    legend_.draw(
        canvas, left ? inner.left + kLegendMargin : inner.right() - kLegendMargin - legend_.width(),
        low ? inner.bottom() - kLegendMargin - legend_.height() : inner.top + kLegendMargin);
  }

 private:
  enum class Corner { TopRight, BottomRight, TopLeft, BottomLeft, Below };

  void set_axes(const std::string& who) {
    const auto left = y_span(shapes_, false, chart_.y.log);
    const auto right = y_span(shapes_, true, chart_.right.log);
    auto across = x_span(shapes_);
    check(across.low <= across.high && (left.low <= left.high || right.low <= right.high),
          "{}: no series has a value that can be shown", who);
    if (!names_.empty()) {
      x_ = Ticks{.low = -0.5, .high = static_cast<double>(names_.size()) - 0.5};
    } else {
      const bool whole = all_whole(shapes_) && !chart_.x.log;
      // One place alone, without neighbours that no series has.
      if (whole && across.low == across.high) across = {across.low - 0.5, across.high + 0.5};
      const auto span = axis_span(chart_.x, across, 0.02, who);
      x_ = x_ticks(chart_.x, span, chart_.width, whole);
    }
    has_right_ = right.low <= right.high;
    if (has_right_) right_ = y_ticks(chart_.right, right, chart_.height, who);
    y_ = left.low <= left.high ? y_ticks(chart_.y, left, chart_.height, who) : right_;
  }

  NameRow name_row(double width) const { return {names_, width / names_.size()}; }

  double right_axis_room() const {
    if (!has_right_) return 0;
    return kAxisGap + widest_name(right_.labels) + right_label().room();
  }

  AxisLabel x_label() const { return {chart_.x.label, chart_.width + 40}; }
  AxisLabel y_label() const { return {chart_.y.label, chart_.height + 20}; }
  AxisLabel right_label() const { return {chart_.right.label, chart_.height + 20}; }

  /// The first corner whose share for the legend no series enters.
  Corner free_corner() const {
    if (legend_.empty()) return Corner::TopRight;
    const double width = (legend_.width() + 2 * kLegendMargin) / chart_.width;
    const double height = (legend_.height() + 2 * kLegendMargin) / chart_.height;
    if (width > 0.7 || height > 0.7) return Corner::Below;
    const auto traces = shape_traces(shapes_, {x_, y_, right_, !names_.empty()});
    for (const auto corner :
         {Corner::TopRight, Corner::BottomRight, Corner::TopLeft, Corner::BottomLeft}) {
      const bool left = corner == Corner::TopLeft || corner == Corner::BottomLeft;
      const bool low = corner == Corner::BottomLeft || corner == Corner::BottomRight;
      const bool entered = std::any_of(traces.begin(), traces.end(), [&](const Place& p) {
        return (left ? p.x < width : p.x > 1 - width) && (low ? p.y < height : p.y > 1 - height);
      });
      if (!entered) return corner;
    }
    return Corner::Below;
  }

  void draw_numbers(Canvas& canvas, const Rect& inner) const {
    for (size_t i = 0; i < y_.at.size() && !left_is_empty(); ++i)
      canvas.text(inner.left - kAxisGap, inner.bottom() - y_.position(y_.at[i]) * inner.height,
                  y_.labels[i], {.size = kSmallText, .align = Align::Right});
    for (size_t i = 0; i < right_.at.size(); ++i)
      canvas.text(inner.right() + kAxisGap,
                  inner.bottom() - right_.position(right_.at[i]) * inner.height, right_.labels[i],
                  {.size = kSmallText});
    if (!names_.empty()) {
      NameRow(names_, chart_.width / names_.size())
          .draw(canvas, inner.left, inner.bottom() + kAxisGap, inner.width / names_.size());
      return;
    }
    for (size_t i = 0; i < x_.at.size(); ++i)
      canvas.text(inner.left + x_.position(x_.at[i]) * inner.width,
                  inner.bottom() + kAxisGap + kSmallText * kLineHeight / 2, x_.labels[i],
                  {.size = kSmallText, .align = Align::Center});
  }

  bool left_is_empty() const {
    return std::all_of(shapes_.begin(), shapes_.end(), [](const Shape& s) { return s.right; });
  }

  void draw_labels(Canvas& canvas, const Rect& inner) const {
    const auto e = extent();
    const double under =
        e.bottom - (corner_ == Corner::Below ? kLegendMargin + legend_.height() : 0);
    x_label().draw_level(canvas, inner.middle_x(), inner.bottom() + under);
    y_label().draw_upright(canvas, inner.left - e.left, inner.middle_y());
    if (has_right_)
      right_label().draw_upright(
          canvas, inner.right() + right_axis_room() - right_label().room() + kAxisGap,
          inner.middle_y());
  }

  Chart chart_;
  std::vector<Shape> shapes_;
  Legend legend_;
  std::vector<std::string> names_;
  Ticks x_, y_, right_;
  bool has_right_ = false;
  Corner corner_ = Corner::TopRight;
};

}  // namespace

std::unique_ptr<PanelPlan> plan(const Chart& chart, const Shared&, const std::string& who) {
  return std::make_unique<ChartPlan>(chart, who);
}

}  // namespace vitrine::plot
