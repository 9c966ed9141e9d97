#include "vitrine/plot/footer.h"

#include "vitrine/plot/text.h"

namespace vitrine::plot {
namespace {

constexpr double kFooterGap = 10, kSquare = 12, kNameGap = 6, kEntryGap = 20, kLegendLine = 19;
constexpr size_t kNoteLines = 8;

double entry_width(const Swatch& swatch) {
  return kSquare + kNameGap + text_width(swatch.name, kText);
}

double line_width(const std::vector<Swatch>& line) {
  double width = -kEntryGap;
  for (const auto& swatch : line) width += entry_width(swatch) + kEntryGap;
  return width;
}

}  // namespace

Footer::Footer(const Figure& figure, double width)
    : width_(width), note_(wrap_text(figure.note, width, kSmallText, kNoteLines)) {
  for (const auto& swatch : figure.legend) {
    if (legend_.empty() || line_width(legend_.back()) + kEntryGap + entry_width(swatch) > width)
      legend_.emplace_back();
    legend_.back().push_back(swatch);
  }
}

double Footer::height() const {
  const double legend = legend_.empty() ? 0 : kFooterGap + legend_.size() * kLegendLine;
  return legend + (note_.empty() ? 0 : kFooterGap + note_.size() * kSmallText * kLineHeight);
}

void Footer::draw(Canvas& canvas, double left, double top) const {
  double y = top;
  if (!legend_.empty()) y += kFooterGap;
  for (const auto& line : legend_) {
    double x = left + (width_ - line_width(line)) / 2;
    for (const auto& swatch : line) {
      const Rect square{x, y + (kLegendLine - kSquare) / 2, kSquare, kSquare};
      canvas.fill(square, swatch.color, 1);
      canvas.frame(square, kFaint);
      canvas.text(x + kSquare + kNameGap, y + kLegendLine / 2, swatch.name, {});
      x += entry_width(swatch) + kEntryGap;
    }
    y += kLegendLine;
  }
  canvas.paragraph(left, y + kFooterGap, note_, {.size = kSmallText, .color = kFaint});
}

}  // namespace vitrine::plot
