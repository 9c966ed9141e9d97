#include "vitrine/plot/figure.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/plot/canvas.h"
#include "vitrine/plot/footer.h"
#include "vitrine/plot/panel.h"
#include "vitrine/plot/text.h"

namespace vitrine::plot {
namespace {

constexpr double kMargin = 14, kPanelGap = 22, kTightGap = 8, kCaptionWidth = 120;
constexpr double kSmallestWidth = 260, kLongestBar = 320;

/// The largest extents of the panels in each row and each column, and what stands around them.
struct Grid {
  int64_t rows = 0, columns = 0;
  std::vector<Extent> row, column;
  double gap = 0;
};

template <typename P>
const Matrix* heat_of(const P& panel) {
  if constexpr (std::is_same_v<P, HeatMap>) return &panel.values;
  if constexpr (std::is_same_v<P, ImagePanel>) return panel.heat.rows > 0 ? &panel.heat : nullptr;
  return nullptr;
}

/// The colour bar that all heat maps of the figure share.
std::optional<ColorBar> shared_bar(const Figure& figure) {
  if (!figure.shared_colors) return std::nullopt;
  std::vector<const Matrix*> matrices;
  std::optional<double> low, high;
  std::optional<ColorMap> map;
  for (const auto& panel : figure.panels)
    std::visit(
        [&]<typename P>(const P& p) {
          const Matrix* heat = heat_of(p);
          if (heat == nullptr) return;
          matrices.push_back(heat);
          if constexpr (!std::is_same_v<P, Chart>) {
            if (p.low) low = std::min(*p.low, low.value_or(*p.low));
            if (p.high) high = std::max(*p.high, high.value_or(*p.high));
            check(!map || *map == p.colors,
                  "figure '{}': heat maps with different colour maps cannot share a colour bar",
                  figure.title);
            map = p.colors;
          }
        },
        panel);
  check(!matrices.empty(), "figure '{}': no heat map can share its colours", figure.title);
  return ColorBar{*map, color_range(matrices, *map, low, high), figure.color_label,
                  figure.color_ticks};
}

std::vector<std::unique_ptr<PanelPlan>> plan_panels(const Figure& figure,
                                                    const std::optional<ColorBar>& bar) {
  Shared shared{.panels = figure.panels.size()};
  if (bar) shared.colors = bar->range;
  std::vector<std::unique_ptr<PanelPlan>> plans;
  for (const auto& panel : figure.panels)
    plans.push_back(std::visit(
        [&](const auto& p) {
          const auto who =
              p.title.empty() ? fmt::format("figure '{}', panel {}", figure.title, plans.size() + 1)
                              : fmt::format("figure '{}', panel '{}'", figure.title, p.title);
          return plan(p, shared, who);
        },
        panel));
  return plans;
}

Grid measure(const Figure& figure, const std::vector<std::unique_ptr<PanelPlan>>& plans) {
  const auto count = static_cast<int64_t>(plans.size());
  Grid grid;
  grid.columns = figure.columns > 0 ? figure.columns : std::ceil(std::sqrt(count));
  grid.columns = std::min(grid.columns, count);
  grid.rows = (count + grid.columns - 1) / grid.columns;
  grid.row.resize(grid.rows);
  grid.column.resize(grid.columns);
  bool bare = true;
  for (int64_t i = 0; i < count; ++i) {
    const auto e = plans[i]->extent();
    auto& row = grid.row[i / grid.columns];
    auto& column = grid.column[i % grid.columns];
    column.width = std::max(column.width, e.width);
    column.left = std::max(column.left, e.left);
    column.right = std::max(column.right, e.right);
    row.height = std::max(row.height, e.height);
    row.top = std::max(row.top, e.top);
    row.bottom = std::max(row.bottom, e.bottom);
    bare = bare && e.left == 0 && e.bottom == 0;
  }
  grid.gap = bare ? kTightGap : kPanelGap;
  return grid;
}

double across(const Grid& grid) {
  double width = grid.gap * (grid.columns - 1);
  for (const auto& e : grid.column) width += e.left + e.width + e.right;
  return width;
}

double down(const Grid& grid) {
  double height = grid.gap * (grid.rows - 1);
  for (const auto& e : grid.row) height += e.top + e.height + e.bottom;
  return height;
}

double caption_width(const Figure& figure) {
  double width = 0;
  for (const auto& name : figure.row_names)
    for (const auto& line : wrap_text(name, kCaptionWidth, kText, 3))
      width = std::max(width, text_width(line, kText) + 8);
  return width;
}

double caption_height(const Figure& figure, const Grid& grid) {
  size_t lines = 0;
  for (size_t i = 0; i < figure.column_names.size(); ++i)
    lines = std::max(lines,
                     wrap_text(figure.column_names[i], grid.column[i].width + 4, kText, 3).size());
  return lines == 0 ? 0 : lines * kText * kLineHeight + 4;
}

void check_captions(const Figure& figure, const Grid& grid) {
  const auto fits = [&](const std::vector<std::string>& names, int64_t count, const char* what) {
    check(names.empty() || static_cast<int64_t>(names.size()) == count,
          "figure '{}': {} captions for {} {}", figure.title, names.size(), count, what);
  };
  fits(figure.row_names, grid.rows, "rows");
  fits(figure.column_names, grid.columns, "columns");
}

void draw_captions(Canvas& canvas, const Figure& figure, const std::vector<Rect>& rects,
                   const Grid& grid, double left, double top) {
  for (size_t i = 0; i < figure.column_names.size(); ++i)
    canvas.paragraph(rects[i].middle_x(), top,
                     wrap_text(figure.column_names[i], grid.column[i].width + 4, kText, 3),
                     {.align = Align::Center});
  for (size_t i = 0; i < figure.row_names.size(); ++i) {
    const auto lines = wrap_text(figure.row_names[i], kCaptionWidth, kText, 3);
    const double middle = rects[i * grid.columns].middle_y();
    canvas.paragraph(left, middle - lines.size() * kText * kLineHeight / 2, lines,
                     {.align = Align::Right});
  }
}

std::vector<std::string> render_as(const Figure& figure, const std::vector<std::string>& formats) {
  check(!figure.panels.empty(), "figure '{}': it has no panels", figure.title);
  const auto bar = shared_bar(figure);
  const auto plans = plan_panels(figure, bar);
  const auto grid = measure(figure, plans);
  check_captions(figure, grid);

  const double captions = caption_width(figure), bar_room = bar ? bar->room() : 0;
  const double content = captions + across(grid) + bar_room;
  const double width = std::ceil(std::max(content, kSmallestWidth) + 2 * kMargin);
  const auto title = wrap_text(figure.title, width - 2 * kMargin, kFigureTitle, 3, /*bold=*/true);
  const double title_room = title.empty() ? 0 : title.size() * kFigureTitle * kLineHeight + 8;
  const double top = kMargin + title_room, column_captions = caption_height(figure, grid);
  const Footer footer(figure, width - 2 * kMargin);
  const double panels_bottom = top + column_captions + down(grid);
  const double height = std::ceil(panels_bottom + footer.height() + kMargin);

  Canvas canvas(width, height);
  canvas.paragraph(width / 2, kMargin, title,
                   {.size = kFigureTitle, .align = Align::Center, .bold = true});
  const double first_left = (width - content) / 2 + captions;
  std::vector<Rect> rects;
  double y = top + column_captions;
  for (int64_t r = 0; r < grid.rows; ++r) {
    double x = first_left;
    for (int64_t c = 0; c < grid.columns; ++c) {
      rects.push_back({std::round(x + grid.column[c].left), std::round(y + grid.row[r].top),
                       grid.column[c].width, grid.row[r].height});
      x += grid.column[c].left + grid.column[c].width + grid.column[c].right + grid.gap;
    }
    y += grid.row[r].top + grid.row[r].height + grid.row[r].bottom + grid.gap;
  }
  for (size_t i = 0; i < plans.size(); ++i) plans[i]->draw(canvas, rects[i]);
  draw_captions(canvas, figure, rects, grid, first_left - 8, top);
  if (bar) {
    const double length = std::min(rects.back().bottom() - rects.front().top, kLongestBar);
    const double middle = (rects.back().bottom() + rects.front().top) / 2;
    bar->draw(canvas, first_left + across(grid), middle - length / 2, length);
  }
  footer.draw(canvas, kMargin, panels_bottom);
  return canvas.render(figure.title, formats);
}

}  // namespace

void Figure::save(const fs::path& path) const {
  const auto extension = path.extension().string();
  if (extension == ".png" || extension == ".svg") {
    write_file_atomically(path, render(extension.substr(1)));
    return;
  }
  const auto both = render_as(*this, {"png", "svg"});
  auto png = path, svg = path;
  write_file_atomically(png += ".png", both[0]);
  write_file_atomically(svg += ".svg", both[1]);
}

void check_figure_file(const fs::path& path) {
  const auto extension = path.extension();
  check(extension == ".png" || extension == ".svg", "figure: '{}' does not end in .png or .svg",
        path.string());
  if (path.has_parent_path()) make_folder(path.parent_path());
}

std::string Figure::render(const std::string& format) const {
  check(format == "png" || format == "svg", "figure '{}': format '{}' is not png or svg", title,
        format);
  return render_as(*this, {format}).front();
}

Figure image_grid(std::string title, const std::vector<Image>& images,
                  const std::vector<std::string>& titles, int64_t columns) {
  check(titles.empty() || titles.size() == images.size(), "figure '{}': {} titles for {} images",
        title, titles.size(), images.size());
  Figure figure{.title = std::move(title), .columns = columns};
  for (size_t i = 0; i < images.size(); ++i)
    figure.panels.push_back(
        ImagePanel{.title = titles.empty() ? "" : titles[i], .image = images[i]});
  return figure;
}

}  // namespace vitrine::plot
