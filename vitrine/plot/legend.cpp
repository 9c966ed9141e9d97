#include "vitrine/plot/legend.h"

#include <algorithm>

#include "vitrine/plot/text.h"

namespace vitrine::plot {
namespace {

constexpr double kRow = 17, kSample = 24, kSampleGap = 6, kPadding = 5, kColumnGap = 16,
                 kLongestName = 220;

std::string shown_name(const Shape& shape) {
  const auto lines = wrap_text(shape.name, kLongestName, kText, 1);
  return lines.empty() ? "" : lines.front();
}

}  // namespace

std::string dashes(Stroke stroke) {
  switch (stroke) {
    case Stroke::Solid:
      return "solid";
    case Stroke::Dashed:
      return "(7,6)";
    case Stroke::Dotted:
      return "(1,5)";
  }
  return "solid";
}

Legend::Legend(const std::vector<Shape>& shapes) {
  for (const auto& shape : shapes)
    if (!shape.name.empty() && shape.mark != Mark::Box) entries_.push_back(shape);
}

double Legend::entry_width() const {
  double widest = 0;
  for (const auto& entry : entries_)
    widest = std::max(widest, text_width(shown_name(entry), kText));
  return kSample + kSampleGap + widest;
}

void Legend::spread_over(double width) {
  if (empty()) return;
  const auto fit = static_cast<size_t>((width + kColumnGap) / (entry_width() + kColumnGap));
  columns_ = std::clamp<size_t>(fit, 1, entries_.size());
  const size_t rows = (entries_.size() + columns_ - 1) / columns_;
  columns_ = (entries_.size() + rows - 1) / rows;
}

double Legend::width() const {
  return columns_ * (entry_width() + kColumnGap) - kColumnGap + 2 * kPadding;
}

double Legend::height() const {
  const size_t rows = (entries_.size() + columns_ - 1) / columns_;
  return static_cast<double>(rows) * kRow + 2 * kPadding;
}

void Legend::draw(Canvas& canvas, double left, double top) const {
  const size_t rows = (entries_.size() + columns_ - 1) / columns_;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto& entry = entries_[i];
    const size_t column = i / rows;
    const double x = left + kPadding + static_cast<double>(column) * (entry_width() + kColumnGap);
    const double y = top + kPadding + (i % rows + 0.5) * kRow;
    if (entry.mark == Mark::Line)
      canvas.line(x, y, x + kSample, y,
                  {.color = entry.color, .width = 2, .dashes = dashes(entry.stroke)});
    if (entry.mark == Mark::Points || (entry.mark == Mark::Line && entry.markers))
      canvas.marker(x + kSample / 2, y, entry.marker, entry.color);
    if (entry.mark == Mark::Bars || entry.mark == Mark::Histogram)
      canvas.fill({x + 6, y - 5, kSample - 12, 10}, entry.color, entry.see_through ? 0.55 : 1);
    canvas.text(x + kSample + kSampleGap, y, shown_name(entry), {});
  }
}

}  // namespace vitrine::plot
