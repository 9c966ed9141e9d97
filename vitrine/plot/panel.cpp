#include "vitrine/plot/panel.h"

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/plot/names.h"
#include "vitrine/plot/text.h"
#include "vitrine/plot/ticks.h"

namespace vitrine::plot {
namespace {

constexpr size_t kTitleLines = 3;
constexpr double kTitleGap = 5;
constexpr double kBarWidth = 13, kBarGap = 10, kBarLabelGap = 5;

Ticks ticks_of(const ColorBar& bar) {
  if (bar.ticks.empty()) return linear_ticks(bar.range.low, bar.range.high, 5);
  Ticks ticks{.low = bar.range.low, .high = bar.range.high};
  for (const auto& tick : bar.ticks) {
    ticks.at.push_back(tick.value);
    ticks.labels.push_back(tick.label);
  }
  return ticks;
}

}  // namespace

void check_matrix(const Matrix& matrix, const std::string& who) {
  check(matrix.rows > 0 && matrix.columns > 0, "{}: the heat map has no values", who);
  check(static_cast<int64_t>(matrix.values.size()) == matrix.rows * matrix.columns,
        "{}: the heat map has {} values for {} rows x {} columns", who, matrix.values.size(),
        matrix.rows, matrix.columns);
}

double title_height(const std::string& title, double width, double size) {
  const auto lines = wrap_text(title, width, size, kTitleLines, size >= kPanelTitle);
  return lines.empty() ? 0 : lines.size() * size * kLineHeight + kTitleGap;
}

void draw_title(Canvas& canvas, const Rect& inner, const std::string& title, double width,
                double size) {
  const bool bold = size >= kPanelTitle;
  canvas.paragraph(inner.middle_x(), inner.top - title_height(title, width, size),
                   wrap_text(title, width, size, kTitleLines, bold),
                   {.size = size, .align = Align::Center, .bold = bold});
}

double ColorBar::room() const {
  const double label_room = label.empty() ? 0 : kText * kLineHeight + kBarLabelGap;
  return kBarGap + kBarWidth + kBarLabelGap + widest_name(ticks_of(*this).labels) + label_room;
}

void ColorBar::draw(Canvas& canvas, double left, double top, double height) const {
  constexpr int64_t kShades = 256;
  Matrix ramp{kShades, 1, {}};
  for (int64_t i = 0; i < kShades; ++i) ramp.values.push_back(1 - i / (kShades - 1.0));
  const Rect bar{left + kBarGap, top, kBarWidth, height};
  canvas.image(bar, colorize(ramp, map, {0, 1}));
  canvas.frame(bar, kFaint);
  const auto shown = ticks_of(*this);
  for (size_t i = 0; i < shown.at.size(); ++i) {
    const double y = bar.bottom() - shown.position(shown.at[i]) * height;
    canvas.line(bar.right(), y, bar.right() + 3, y, {.color = kFaint});
    canvas.text(bar.right() + kBarLabelGap, y, shown.labels[i], {.size = kSmallText});
  }
  if (label.empty()) return;
  const double middle = bar.right() + 2 * kBarLabelGap + widest_name(shown.labels) + kText / 2;
  const auto line = wrap_text(label, std::max(height, 160.0), kText, 1);
  if (!line.empty())
    canvas.text(middle, bar.middle_y(), line.front(), {.align = Align::Center, .rotate = 90});
}

}  // namespace vitrine::plot
