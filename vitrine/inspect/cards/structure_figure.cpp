#include "vitrine/inspect/cards/structure_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/plot/markup.h"
#include "vitrine/plot/text.h"

namespace vitrine {
namespace {

constexpr int64_t kBox = 164, kGap = 24, kMargin = 16, kPadding = 10, kGrid = 88, kLine = 17,
                  kTop = 50, kTextSize = 12;
constexpr const char *kBlue = "#0072b2", *kPaleBlue = "#e6f1f8", *kGreen = "#00785a",
                     *kPaleGreen = "#e5f4ee", *kOrange = "#d55e00", *kGrey = "#666666",
                     *kPaleGrey = "#f3f3f3", *kDark = "#222222";

/// A column of the figure: a box with lines above and below its grid.
struct Column {
  std::vector<std::string> above, below;  // the first line below is its title
  TokenGrid grid{};                       // without rows: none is drawn
  int64_t window = 0;
  const char *ink = kGrey, *fill = kPaleGrey;
};

std::string grid_text(const TokenGrid& g) {
  if (g.rows == 1) return fmt::format("{}", g.columns);
  return fmt::format("{} × {}{}", g.rows, g.columns,
                     g.prefix > 0 ? fmt::format(" + {}", g.prefix) : "");
}

Column input_column(const std::vector<int64_t>& shape) {
  if (shape.size() != 4)
    return {.above = {},
            .below = {"sequence", fmt::format("{} tokens", shape[1])},
            .grid = sequence_grid(shape[1])};
  return {.above = {},
          .below = {"image", fmt::format("{} × {} pixels", shape[2], shape[3]),
                    counted(shape[1], "channel")},
          .grid = {.rows = 1, .columns = 1}};
}

Column stage_column(const Stage& s) {
  Column c{.above = s.before, .below = {}, .grid = s.grid, .window = s.window};
  c.ink = s.attention ? kBlue : kGreen;
  c.fill = s.attention ? kPaleBlue : kPaleGreen;
  c.below = {counted(s.blocks, s.attention ? "transformer block" : "residual block"),
             grid_text(s.grid) + (s.attention ? " tokens" : " positions"),
             s.attention ? fmt::format("dimension {}", s.width) : counted(s.width, "channel")};
  if (!s.attention) return c;
  if (s.heads > 0) c.below.push_back(counted(s.heads, "head"));
  if (s.window > 0) c.below.push_back(fmt::format("windows of {0} × {0}", s.window));
  if (s.keys.tokens() > 0) c.below.push_back(grid_text(s.keys) + " keys");
  if (s.hidden > 0) c.below.push_back(fmt::format("feed-forward {}", s.hidden));
  if (s.inner.groups > 0) {
    c.below.push_back(fmt::format("inside each of {}:", s.inner.groups));
    c.below.push_back(grid_text(s.inner.grid) + " tokens");
    c.below.push_back(
        fmt::format("dimension {}, {}", s.inner.width, counted(s.inner.heads, "head")));
  }
  return c;
}

std::string svg_text(double x, int64_t y, std::string_view text, const char* color, bool bold) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\"{}>{}</text>\n",
                     x, y, color, bold ? " font-weight=\"bold\"" : "", plot::escape_markup(text));
}

/// Lines between the cells of a grid; `step` leaves out all but every n-th.
std::string svg_grid(const TokenGrid& g, double left, double top, double cell, int64_t step,
                     const char* color, double thickness) {
  std::string path;
  const double width = cell * static_cast<double>(g.columns),
               height = cell * static_cast<double>(g.rows);
  for (int64_t i = 0; i <= g.columns; i += step)
    path += fmt::format("M{:.2f} {:.2f}v{:.2f}", left + cell * static_cast<double>(i), top, height);
  for (int64_t i = 0; i <= g.rows; i += step)
    path += fmt::format("M{:.2f} {:.2f}h{:.2f}", left, top + cell * static_cast<double>(i), width);
  return fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", path, color,
                     thickness);
}

/// A square of cells with windows and, beside it, the tokens that have no place; of a sequence, a
/// strip that is broken off.
std::string svg_tokens(const Column& c, int64_t x, int64_t y) {
  const auto left = static_cast<double>(x) + (kBox - kGrid) / 2.0, top = static_cast<double>(y);
  if (c.grid.rows == 1 && c.grid.columns > 1) {
    constexpr int64_t kShown = 8;
    const double cell = static_cast<double>(kGrid) / (kShown + 2);
    const double middle = top + (kGrid - cell) / 2;
    return svg_grid(sequence_grid(kShown), left, middle, cell, 1, c.ink, 1) +
           svg_text(left + cell * (kShown + 1), static_cast<int64_t>(middle + cell), "…", c.ink,
                    false);
  }
  const double cell = static_cast<double>(kGrid) / static_cast<double>(c.grid.columns);
  auto svg = svg_grid(c.grid, left, top, cell, 1, c.ink, c.grid.columns > 20 ? 0.4 : 0.8);
  if (c.window > 0) svg += svg_grid(c.grid, left, top, cell, c.window, kOrange, 1.6);
  for (int64_t i = 0; i < c.grid.prefix; ++i)
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"9\" height=\"9\" fill=\"{}\" stroke=\"none\"/>\n",
        left - 16, top + 14 * static_cast<double>(i), c.ink);
  return svg;
}

std::string svg_arrow(int64_t x, int64_t y) {
  return fmt::format("<path d=\"M{} {}h{}m-6 -5l6 5l-6 5\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                     x + 3, y, kGap - 6, kDark);
}

std::vector<Column> columns_of(const ModelStructure& structure) {
  std::vector<Column> columns = {input_column(structure.input)};
  for (const auto& stage : structure.stages) columns.push_back(stage_column(stage));
  columns.push_back({.above = {}, .below = {"head"}});
  for (const auto& step : structure.head) columns.back().below.push_back(step);
  for (auto& c : columns) {
    std::vector<std::string> lines;
    for (const auto& text : c.above)
      for (auto& line : plot::wrap_text(text, kBox - 8, kTextSize, /*max_lines=*/2))
        lines.push_back(std::move(line));
    c.above = std::move(lines);
  }
  return columns;
}

}  // namespace

std::string structure_svg(const std::string& title, const ModelStructure& structure) {
  const auto columns = columns_of(structure);
  size_t above = 0, below = 0;
  for (const auto& c : columns) {
    above = std::max(above, c.above.size());
    below = std::max(below, c.below.size());
  }
  const int64_t grid_top = kTop + kLine * static_cast<int64_t>(above) + kPadding,
                text_top = grid_top + kGrid + kPadding + kLine,
                bottom = text_top + kLine * static_cast<int64_t>(below) - kPadding / 2,
                count = std::ssize(columns),
                width = 2 * kMargin + count * kBox + (count - 1) * kGap, height = bottom + kMargin;
  auto svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"{2}\" "
      "fill=\"none\">\n<title>{3}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{4}\" y=\"26\" font-size=\"15\" font-weight=\"bold\" fill=\"{5}\">{3}</text>\n",
      width, height, kTextSize, plot::escape_markup(title), kMargin, kDark);
  for (int64_t i = 0; i < count; ++i) {
    const auto& c = columns[static_cast<size_t>(i)];
    const auto x = kMargin + i * (kBox + kGap);
    const auto middle = static_cast<double>(x) + kBox / 2.0;
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{}\" stroke=\"{}\"/>\n",
        x, kTop - kPadding - 4, kBox, bottom - kTop + kPadding + 4, c.fill, c.ink);
    if (i > 0) svg += svg_arrow(x - kGap, grid_top + kGrid / 2);
    const auto first = static_cast<int64_t>(above - c.above.size());
    for (int64_t k = 0; k < std::ssize(c.above); ++k)
      svg += svg_text(middle, kTop + kLine * (first + k) + kPadding / 2,
                      c.above[static_cast<size_t>(k)], kGrey, false);
    if (c.grid.rows > 0) svg += svg_tokens(c, x, grid_top);
    const auto text_at =
        c.grid.rows > 0 ? text_top : grid_top + kGrid / 2 - kLine * (std::ssize(c.below) / 2);
    for (int64_t k = 0; k < std::ssize(c.below); ++k)
      svg += svg_text(middle, text_at + kLine * k, c.below[static_cast<size_t>(k)],
                      k == 0 ? c.ink : kDark, k == 0);
  }
  return svg + "</svg>\n";
}

}  // namespace vitrine
