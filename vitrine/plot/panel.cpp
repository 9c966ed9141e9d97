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

Ticks bar_ticks(const ColorRange& range) { return linear_ticks(range.low, range.high, 5); }

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
  return kBarGap + kBarWidth + kBarLabelGap + widest_name(bar_ticks(range).labels) + label_room;
}

void ColorBar::draw(Canvas& canvas, double left, double top, double height) const {
  constexpr int64_t kShades = 256;
  Matrix ramp{kShades, 1, {}};
  for (int64_t i = 0; i < kShades; ++i) ramp.values.push_back(1 - i / (kShades - 1.0));
  const Rect bar{left + kBarGap, top, kBarWidth, height};
  canvas.image(bar, colorize(ramp, map, {0, 1}));
  canvas.frame(bar, kFaint);
  const auto ticks = bar_ticks(range);
  for (size_t i = 0; i < ticks.at.size(); ++i) {
    const double y = bar.bottom() - ticks.position(ticks.at[i]) * height;
    canvas.line(bar.right(), y, bar.right() + 3, y, {.color = kFaint});
    canvas.text(bar.right() + kBarLabelGap, y, ticks.labels[i], {.size = kSmallText});
  }
  if (label.empty()) return;
  const double middle = bar.right() + 2 * kBarLabelGap + widest_name(ticks.labels) + kText / 2;
  const auto line = wrap_text(label, std::max(height, 160.0), kText, 1);
  if (!line.empty())
    canvas.text(middle, bar.middle_y(), line.front(), {.align = Align::Center, .rotate = 90});
}

}  // namespace vitrine::plot
