#include "vitrine/plot/names.h"

#include <algorithm>
#include <cmath>

#include "vitrine/plot/text.h"

namespace vitrine::plot {
namespace {

constexpr double kLongest = 150, kLabelGap = 5;
constexpr double kSlope = 0.7072;  // 45 degrees

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const auto& name : names) {
    const auto lines = wrap_text(name, kLongest, kSmallText, 1);
    result.push_back(lines.empty() ? "" : lines.front());
  }
  return result;
}

double widest_name(const std::vector<std::string>& names) {
  double width = 0;
  for (const auto& name : names) width = std::max(width, text_width(name, kSmallText));
  return width;
}

NameRow::NameRow(std::vector<std::string> names, double slot)
    : names_(std::move(names)),
      slot_(slot),
      widest_(widest_name(names_)),
      slanted_(widest_ > slot - 4) {}

double NameRow::height() const {
  if (names_.empty()) return 0;
  return slanted_ ? (widest_ + kSmallText) * kSlope + 2 : kSmallText * kLineHeight;
}

double NameRow::overhang() const {
  return slanted_ ? std::max(0.0, widest_ * kSlope - slot_ / 2 + kSmallText / 2) : 0;
}

void NameRow::draw(Canvas& canvas, double left, double top, double slot) const {
  const auto every = static_cast<size_t>(std::max(1.0, std::ceil(kSmallText * 1.25 / slot)));
  for (size_t i = 0; i < names_.size(); i += slanted_ ? every : 1) {
    const double x = left + (static_cast<double>(i) + 0.5) * slot;
    if (slanted_)
      canvas.text(x + kSmallText / 3, top + kSmallText / 3, names_[i],
                  {.size = kSmallText, .align = Align::Right, .rotate = 45});
    else
      canvas.text(x, top + kSmallText * kLineHeight / 2, names_[i],
                  {.size = kSmallText, .align = Align::Center});
  }
}

AxisLabel::AxisLabel(const std::string& label, double length)
    : lines_(wrap_text(label, length, kText, 2)) {}

double AxisLabel::room() const {
  return lines_.empty() ? 0 : kLabelGap + lines_.size() * kText * kLineHeight;
}

void AxisLabel::draw_level(Canvas& canvas, double middle, double bottom) const {
  canvas.paragraph(middle, bottom - room() + kLabelGap, lines_, {.align = Align::Center});
}

void AxisLabel::draw_upright(Canvas& canvas, double left, double middle) const {
  double x = left + kText * kLineHeight / 2;
  for (const auto& line : lines_) {
    canvas.text(x, middle, line, {.align = Align::Center, .rotate = 90});
    x += kText * kLineHeight;
  }
}

}  // namespace vitrine::plot
