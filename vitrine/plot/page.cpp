#include "vitrine/plot/page.h"

#include <openssl/evp.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/plot/canvas.h"
#include "vitrine/plot/markup.h"

namespace vitrine::plot {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1d232b; --quiet: #5b6672; --paper: #ffffff;
  --line: #dfe4ea; --soft: #f4f6f8; --link: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --quiet: #a3adb8; --paper: #15191e; --line: #333b45; --soft: #1e242b;
    --link: #7db7f0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.6;
  font-family: system-ui, "Noto Sans", "Noto Sans KR", "Noto Sans CJK KR", sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 1.5rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--line); }
h1, h2, p, li, figcaption { overflow-wrap: anywhere; word-break: keep-all; }
p, ul, ol { max-width: 46rem; }
a { color: var(--link); font-weight: 600; }
.entries { list-style: none; padding: 0; max-width: none; display: grid; gap: .75rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 28rem), 1fr)); }
.entries li { border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem;
  display: flex; gap: 1rem; align-items: flex-start; }
.entries p { margin: .2rem 0 0; }
.entries img { flex: none; width: 9rem; height: auto; background: #ffffff; border-radius: 4px;
  border: 1px solid var(--line); padding: 2px; }
.entries li.wide { flex-direction: column; gap: .5rem; }
.entries li.wide img { width: 100%; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; margin: 1.5rem 0; }
.missing { color: var(--quiet); }
pre { background: var(--soft); padding: .9rem 1rem; border-radius: 8px; overflow-x: auto; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .8rem; border-bottom: 1px solid var(--line); text-align: left; }
th { background: var(--soft); }
.number { text-align: right; }
figure { margin: 1.25rem 0; }
figure > svg, figure > img { display: block; max-width: 100%; height: auto; background: #ffffff;
  border: 1px solid var(--line); border-radius: 8px; padding: 6px; }
figcaption { color: var(--quiet); font-size: .92rem; margin-top: .4rem; }
.grid { display: grid; gap: 1.25rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.grid figure { margin: 0; }
.columns { columns: 24rem 2; column-gap: 2.5rem; margin: 1rem 0; }
.columns p { margin: 0 0 .8rem; break-inside: avoid; }
)";

std::string base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// The width of a PNG in CSS pixels, from its header.
int64_t png_width(const std::string& png) {
  int64_t dots = 0;
  for (size_t at = 16; at < 20; ++at) dots = dots << 8 | static_cast<uint8_t>(png.at(at));
  return dots / static_cast<int64_t>(kPixelRatio);
}

std::string inline_png(const std::string& png, const std::string& words) {
  return fmt::format("<img src=\"data:image/png;base64,{}\" width=\"{}\" alt=\"{}\">", base64(png),
                     png_width(png), words);
}

/// The drawing without its XML header; `prefix` keeps its ids apart from those of other drawings.
std::string inline_svg(std::string svg, const std::string& prefix) {
  svg.erase(0, svg.find("<svg"));
  for (const std::string name : {"gpPt", "gpDot", "textbox", "greybox", "gnuplot_"})
    for (const std::string before : {"id='", "id=\"", "href='#", "url(#"})
      replace_all(svg, before + name, before + prefix + name);
  svg.replace(0, 4, "<svg role=\"img\"");
  return svg;
}

/// Lines stay lines, unlike in `escape_markup`.
std::string escape_lines(const std::string& text) {
  std::string result;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    result += escape_markup(text.substr(from, end - from)) + '\n';
    from = end + 1;
  }
  return result;
}

bool is_number_cell(const std::string& text) {
  return text == "–" || (text.find_first_of("0123456789") != std::string::npos &&
                         text.find_first_not_of("0123456789.,+-eE% ±") == std::string::npos);
}

}  // namespace

std::vector<bool> number_columns(const std::vector<std::string>& header,
                                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<bool> numbers;
  for (size_t c = 0; c < header.size(); ++c)
    numbers.push_back(!rows.empty() && std::all_of(rows.begin(), rows.end(), [&](const auto& r) {
      return c < r.size() && is_number_cell(r[c]);
    }));
  return numbers;
}

Page::Page(std::string title, std::string language)
    : title_(std::move(title)), language_(std::move(language)) {}

void Page::section(const std::string& heading) {
  body_ += fmt::format("<h2>{}</h2>\n", escape_markup(heading));
}

void Page::paragraph(const std::string& text) {
  body_ += fmt::format("<p>{}</p>\n", escape_markup(text));
}

void Page::columns(const std::vector<std::string>& paragraphs) {
  body_ += "<div class=\"columns\">\n";
  for (const auto& text : paragraphs) paragraph(text);
  body_ += "</div>\n";
}

void Page::items(const char* tag, const std::vector<std::string>& items) {
  body_ += fmt::format("<{}>\n", tag);
  for (const auto& item : items) body_ += fmt::format("<li>{}</li>\n", escape_markup(item));
  body_ += fmt::format("</{}>\n", tag);
}

void Page::list(const std::vector<std::string>& items) { this->items("ul", items); }

void Page::numbered(const std::vector<std::string>& items) { this->items("ol", items); }

void Page::entries(const std::vector<PageEntry>& entries) {
  body_ += "<ul class=\"entries\">\n";
  for (const auto& e : entries) {
    const auto title = escape_markup(e.title), text = escape_markup(e.text);
    const auto* look = e.wide ? " class=\"wide\"" : "";
    body_ += e.id.empty() ? fmt::format("<li{}>", look)
                          : fmt::format("<li{} id=\"{}\">", look, escape_markup(e.id));
    if (!e.png.empty())
      body_ += fmt::format("<img src=\"data:image/png;base64,{}\" alt=\"\">", base64(e.png));
    if (e.link.empty())
      body_ += fmt::format(
          "<div><b>{}</b><p>{}</p><p class=\"missing\">{} <code>{}</code></p></div></li>\n", title,
          text, escape_markup(e.note), escape_markup(e.command));
    else
      body_ += fmt::format("<div><a href=\"{}\">{}</a><p>{}</p></div></li>\n",
                           escape_markup(e.link), title, text);
  }
  body_ += "</ul>\n";
}

void Page::links(const std::vector<PageLink>& links) {
  body_ += "<nav>";
  for (const auto& link : links)
    body_ +=
        fmt::format("<a href=\"{}\">{}</a>", escape_markup(link.link), escape_markup(link.text));
  body_ += "</nav>\n";
}

void Page::preformatted(const std::string& text) {
  body_ += fmt::format("<pre>{}</pre>\n", escape_lines(text));
}

void Page::table(const std::vector<std::string>& header,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> open;
  for (const bool numbers : number_columns(header, rows))
    open.push_back(numbers ? " class=\"number\"" : "");
  body_ += "<div class=\"table\"><table>\n<thead><tr>";
  for (size_t c = 0; c < header.size(); ++c)
    body_ += fmt::format("<th scope=\"col\"{}>{}</th>", open[c], escape_markup(header[c]));
  body_ += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    check(row.size() == header.size(), "page '{}': a table row has {} cells under {} headings",
          title_, row.size(), header.size());
    body_ += "<tr>";
    for (size_t c = 0; c < row.size(); ++c)
      body_ += fmt::format("<td{}>{}</td>", open[c], escape_markup(row[c]));
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void Page::figure(const PageFigure& figure) { body_ += figure_html(figure); }

void Page::grid(const std::vector<PageFigure>& figures) {
  body_ += "<div class=\"grid\">\n";
  for (const auto& figure : figures) body_ += figure_html(figure);
  body_ += "</div>\n";
}

std::string Page::figure_html(const PageFigure& f) {
  const auto words = escape_markup(f.caption.empty() ? f.figure.title : f.caption);
  const auto drawing =
      f.embed == Embed::Svg
          ? inline_svg(f.figure.render("svg"), fmt::format("figure{}-", ++figures_))
          : inline_png(f.png.empty() ? f.figure.render("png") : f.png, words);
  const auto caption = f.caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>\n", words);
  return fmt::format("<figure>\n{}\n{}</figure>\n", drawing, caption);
}

std::string Page::html() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n{}</main>\n"
      "</body>\n</html>\n",
      escape_markup(language_), escape_markup(title_), kStyle, escape_markup(title_), body_);
}

void Page::save(const fs::path& path) const { write_file_atomically(path, html()); }

}  // namespace vitrine::plot
