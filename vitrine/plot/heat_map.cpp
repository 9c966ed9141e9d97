#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/plot/names.h"
#include "vitrine/plot/panel.h"

namespace vitrine::plot {
namespace {

constexpr double kTickGap = 5;
constexpr double kAnnotatedCell = 38, kLargestCell = 56, kFlattest = 110;
constexpr double kSmallestAnnotation = 7;
constexpr double kNamedCell = kSmallText * 1.3,
                 kLongestNamed = 2800;  // beyond, some names are left out

double default_map_size(size_t panels) {
  return panels <= 2 ? 400 : panels <= 6 ? 260 : panels <= 20 ? 150 : 96;
}

class HeatMapPlan : public PanelPlan {
 public:
  HeatMapPlan(const HeatMap& map, const Shared& shared)
      : map_(map),
        row_names_(short_names(map.row_names)),
        bar_{map.colors,
             shared.colors.value_or(color_range({&map.values}, map.colors, map.low, map.high)),
             map.color_label},
        with_bar_(map.color_bar && !shared.colors),
        title_size_(shared.panels > 6 ? kSmallText : kPanelTitle) {
    set_cells(shared.panels);
  }

  Extent extent() const override {
    Extent e{.width = cell_width_ * map_.values.columns, .height = cell_height_ * map_.values.rows};
    if (!row_names_.empty()) e.left += kTickGap + widest_name(row_names_);
    e.left = std::max(e.left, column_names().overhang());
    e.left += y_label().room();
    if (with_bar_) e.right += bar_.room();
    e.top = title_height(map_.title, title_width(e.width), title_size_);
    if (!map_.column_names.empty()) e.bottom += kTickGap + column_names().height();
    e.bottom += x_label().room();
    return e;
  }

  void draw(Canvas& canvas, const Rect& room) const override {
    const auto e = extent();
    const Rect inner{room.middle_x() - e.width / 2, room.top, e.width, e.height};
    canvas.image(inner, colorize(map_.values, map_.colors, bar_.range));
    canvas.frame(inner, kFaint);
    if (map_.annotate) draw_numbers(canvas, inner);
    draw_names(canvas, inner);
    x_label().draw_level(canvas, inner.middle_x(), inner.bottom() + e.bottom);
    y_label().draw_upright(canvas, inner.left - e.left, inner.middle_y());
    if (with_bar_) bar_.draw(canvas, inner.right(), inner.top, inner.height);
    draw_title(canvas, inner, map_.title, title_width(e.width), title_size_);
  }

 private:
  /// Square cells, unless the map would become too flat to see.
  void set_cells(size_t panels) {
    const double rows = map_.values.rows, columns = map_.values.columns;
    double size = map_.size > 0 ? map_.size : default_map_size(panels);
    if (map_.size == 0 && map_.annotate)
      size = std::max(size, std::min(kAnnotatedCell * std::max(rows, columns), 760.0));
    double cell = size / std::max(rows, columns);
    if (map_.size == 0) {
      cell = std::min(cell, kLargestCell);
      if (!row_names_.empty()) cell = std::max(cell, std::min(kNamedCell, kLongestNamed / rows));
      if (!map_.column_names.empty())
        cell = std::max(cell, std::min(kNamedCell, kLongestNamed / columns));
    }
    const double least = std::min(kFlattest, size);
    cell_width_ = std::max(cell, std::min(least / columns, kLargestCell));
    cell_height_ = std::max(cell, std::min(least / rows, kLargestCell));
  }

  double title_width(double inner) const { return std::max(inner + 8, 80.0); }

  AxisLabel x_label() const {
    return {map_.x_label, std::max(cell_width_ * map_.values.columns, 120.0)};
  }
  AxisLabel y_label() const {
    return {map_.y_label, std::max(cell_height_ * map_.values.rows, 120.0)};
  }
  NameRow column_names() const { return {short_names(map_.column_names), cell_width_}; }

  bool whole() const {
    return std::all_of(map_.values.values.begin(), map_.values.values.end(),
                       [](double v) { return !std::isfinite(v) || v == std::round(v); });
  }

  std::vector<std::string> numbers() const {
    if (!map_.cell_text.empty()) return map_.cell_text;
    const bool all_whole = whole();
    std::vector<std::string> result;
    for (const double value : map_.values.values)
      result.push_back(std::isfinite(value)
                           ? fmt::format("{:.{}f}", value, all_whole ? 0 : map_.decimals)
                           : "–");
    return result;
  }

  void draw_numbers(Canvas& canvas, const Rect& inner) const {
    const auto texts = numbers();
    const double room = (cell_width_ - 4) / std::max(1.0, widest_name(texts) / kSmallText);
    const double size = std::min({kSmallText, room, cell_height_ * 0.7});
    if (size < kSmallestAnnotation) return;
    for (int64_t row = 0; row < map_.values.rows; ++row)
      for (int64_t column = 0; column < map_.values.columns; ++column) {
        const double position = bar_.range.position(map_.values.at(row, column));
        const bool light = color_at(map_.colors, position).light();
        canvas.text(
            inner.left + (column + 0.5) * cell_width_, inner.top + (row + 0.5) * cell_height_,
            texts[row * map_.values.columns + column],
            {.size = size, .align = Align::Center, .color = light ? kInk : Color{255, 255, 255}});
      }
  }

  void draw_names(Canvas& canvas, const Rect& inner) const {
    const auto every =
        static_cast<size_t>(std::max(1.0, std::ceil(kSmallText * 1.15 / cell_height_)));
    for (size_t i = 0; i < row_names_.size(); i += every)
      canvas.text(inner.left - kTickGap, inner.top + (static_cast<double>(i) + 0.5) * cell_height_,
                  row_names_[i], {.size = kSmallText, .align = Align::Right});
    column_names().draw(canvas, inner.left, inner.bottom() + kTickGap, cell_width_);
  }

  HeatMap map_;
  std::vector<std::string> row_names_;
  ColorBar bar_;
  bool with_bar_;
  double title_size_, cell_width_ = 0, cell_height_ = 0;
};

}  // namespace

std::unique_ptr<PanelPlan> plan(const HeatMap& map, const Shared& shared, const std::string& who) {
  check_matrix(map.values, who);
  const auto fits = [&](const std::vector<std::string>& names, int64_t count, const char* what) {
    check(names.empty() || static_cast<int64_t>(names.size()) == count, "{}: {} names for {} {}",
          who, names.size(), count, what);
  };
  fits(map.row_names, map.values.rows, "rows");
  fits(map.column_names, map.values.columns, "columns");
  check(map.cell_text.empty() || map.cell_text.size() == map.values.values.size(),
        "{}: {} cell texts for {} cells", who, map.cell_text.size(), map.values.values.size());
  return std::make_unique<HeatMapPlan>(map, shared);
}

}  // namespace vitrine::plot
