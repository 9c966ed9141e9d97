#include "vitrine/plot/canvas.h"

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/plot/markup.h"
#include "vitrine/plot/text.h"

namespace vitrine::plot {
namespace {

constexpr const char* kFont = "DejaVu Sans";
constexpr const char* kSvgFonts = "DejaVu Sans, Noto Sans CJK KR, Noto Sans KR, sans-serif";
constexpr double kMaxDots = 30000;  // what cairo can hold

/// In gnuplot's single quotes nothing is special but the quote itself. It is written twice, which
/// gnuplot does not understand at the beginning: quotes there stand in double quotes.
std::string quoted(std::string_view text) {
  const auto clean = clean_text(text);
  const auto leading = std::min(clean.find_first_not_of('\''), clean.size());
  std::string result = leading == 0 ? "'" : fmt::format("\"{}\".'", clean.substr(0, leading));
  for (const char c : clean.substr(leading)) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

const char* word(Align align) {
  return align == Align::Left ? "left" : align == Align::Right ? "right" : "center";
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Gives gnuplot's SVG real bold type, fonts to fall back on and the figure's own title.
void finish_svg(std::string& svg, const std::string& title) {
  replace_all(svg, fmt::format("font-family=\"{}:Bold\"", kFont),
              fmt::format("font-family=\"{}\" font-weight=\"bold\"", kSvgFonts));
  replace_all(svg, fmt::format("font-family=\"{}\" ", kFont),
              fmt::format("font-family=\"{}\" ", kSvgFonts));
  const std::string_view placeholder = "<title>Gnuplot</title>";
  if (const auto at = svg.find(placeholder); at != std::string::npos)
    svg.replace(at, placeholder.size(),
                fmt::format("<title>{}</title>", escape_markup(title.empty() ? "figure" : title)));
}

}  // namespace

void Canvas::text(double x, double y, std::string_view text, const TextStyle& style) {
  things_ += fmt::format(
      "set label {} at {:.2f},{:.2f} {} rotate by {:.0f} font '{}{},{:.2f}' tc rgb '{}' front\n",
      quoted(text), x, up(y), word(style.align), style.rotate, kFont, style.bold ? ":Bold" : "",
      style.size, style.color.hex());
}

void Canvas::paragraph(double x, double top, const std::vector<std::string>& lines,
                       const TextStyle& style) {
  double y = top + style.size * kLineHeight / 2;
  for (const auto& line : lines) {
    text(x, y, line, style);
    y += style.size * kLineHeight;
  }
}

void Canvas::line(double x1, double y1, double x2, double y2, const LineStyle& style) {
  const auto points = data({{x1, x2}, {up(y1), up(y2)}});
  layers_ += fmt::format(", {} using 1:2 with lines lc rgb '{}' lw {} dt {} title ' '", points,
                         style.color.hex(), style.width, style.dashes);
}

void Canvas::marker(double x, double y, int shape, Color color) {
  things_ += fmt::format("set label '' at {:.2f},{:.2f} point pt {} ps 0.8 lc rgb '{}' front\n", x,
                         up(y), shape, color.hex());
}

void Canvas::fill(const Rect& rect, Color color, double opacity) {
  const auto transparency = static_cast<int>(std::lround(255 * (1 - opacity)));
  things_ += fmt::format(
      "set object rectangle from {:.2f},{:.2f} to {:.2f},{:.2f} back fc rgb '#{:02X}{}' "
      "fs solid noborder\n",
      rect.left, up(rect.bottom()), rect.right(), up(rect.top), transparency,
      color.hex().substr(1));
}

void Canvas::frame(const Rect& rect, Color color) {
  things_ += fmt::format(
      "set object rectangle from {:.2f},{:.2f} to {:.2f},{:.2f} front fs empty border lc rgb '{}' "
      "lw 0.75\n",
      rect.left, up(rect.bottom()), rect.right(), up(rect.top), color.hex());
}

void Canvas::image(const Rect& rect, const Image& image) {
  // At the size it will have on paper: no renderer then blurs a small image.
  const auto width = std::max<int64_t>(1, std::lround(rect.width * kPixelRatio));
  const auto height = std::max<int64_t>(1, std::lround(rect.height * kPixelRatio));
  const auto sized = resize_nearest(image, width, height);
  const double dx = rect.width / width, dy = rect.height / height;
  const auto name = fmt::format("image{}", files_.size());
  layers_ += fmt::format(
      ", '{}' binary array=({},{}) flipy format='%uchar' origin=({:.4f},{:.4f}) dx={:.6f} "
      "dy={:.6f} with rgbimage title ' '",
      name, width, height, rect.left + dx / 2, up(rect.bottom()) + dy / 2, dx, dy);
  files_.emplace_back(name, std::string(sized.pixels.begin(), sized.pixels.end()));
}

void Canvas::plot(const Rect& rect, std::string_view commands) {
  plots_ += fmt::format(
      "reset\nunset key\nset pointintervalbox 0\nset lmargin at screen {:.6f}\nset rmargin at "
      "screen {:.6f}\n"
      "set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n{}\n",
      rect.left / width_, rect.right() / width_, up(rect.top) / height_,
      up(rect.bottom()) / height_, commands);
}

std::string Canvas::data(const std::vector<std::vector<double>>& columns) {
  std::string rows;
  for (size_t row = 0; row < columns.front().size(); ++row) {
    for (const auto& column : columns)
      rows += std::isfinite(column[row]) ? fmt::format("{:.10g} ", column[row]) : "NaN ";
    rows += '\n';
  }
  const auto name = fmt::format("data{}", files_.size());
  files_.emplace_back(name, std::move(rows));
  return "'" + name + "'";
}

std::vector<std::string> Canvas::render(const std::string& title,
                                        const std::vector<std::string>& formats) const {
  const double dots = std::max(width_, height_) * kPixelRatio;
  check(dots <= kMaxDots,
        "figure '{}': it would be {:.0f} dots long, {:.0f} at most; use fewer panels", title, dots,
        kMaxDots);
  std::string script = "set encoding utf8\n";
  std::vector<std::string> outputs;
  for (const auto& format : formats) {
    outputs.push_back("figure." + format);
    if (format == "png")
      script += fmt::format(
          "set terminal pngcairo noenhanced rounded background '#FFFFFF' size {:.0f},{:.0f} "
          "font '{},{}' fontscale {} linewidth {} pointscale {} dashlength {}\n",
          width_ * kPixelRatio, height_ * kPixelRatio, kFont, kText, 0.75 * kPixelRatio,
          kPixelRatio, kPixelRatio, kPixelRatio);
    else
      script += fmt::format(
          "set terminal svg noenhanced rounded background '#FFFFFF' size {:.0f},{:.0f} font "
          "'{},{}'\n",
          width_, height_, kFont, kText);
    script += fmt::format("set output '{}'\nload 'body'\nunset output\n", outputs.back());
  }
  auto files = files_;
  files.emplace_back("body",
                     fmt::format("set multiplot\n{}reset\nunset key\nunset border\nunset tics\n"
                                 "set lmargin at screen 0\nset rmargin at screen 1\n"
                                 "set bmargin at screen 0\nset tmargin at screen 1\n"
                                 "set xrange [0:{}]\nset yrange [0:{}]\n{}plot -1 title ' '{}\n"
                                 "unset multiplot\nreset\n",
                                 plots_, width_, height_, things_, layers_));
  auto results = run_gnuplot(script, files, outputs);
  for (size_t i = 0; i < formats.size(); ++i)
    if (formats[i] == "svg") finish_svg(results[i], title);
  return results;
}

}  // namespace vitrine::plot
