#include "vitrine/report/report.h"

#include "vitrine/core/error.h"
#include "vitrine/plot/text.h"
#include "vitrine/report/terminal.h"

namespace vitrine::report {
namespace {

constexpr int64_t kTextIndent = 4, kTableIndent = 2;

/// Text on one line that Markdown shows as it is. (An underscore inside a word is no markup.)
std::string escape_markdown(const std::string& text) {
  std::string result;
  for (const char c : plot::clean_text(text)) {
    if (std::string_view("\\`*[]<|").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const auto& cell : cells) row += fmt::format(" {} |", escape_markdown(cell));
  return row + "\n";
}

}  // namespace

std::string markdown_table(const plot::Table& table) {
  auto text = table.title.empty() ? "" : fmt::format("### {}\n\n", escape_markdown(table.title));
  text += markdown_row(table.header) + "|";
  for (const bool numbers : plot::number_columns(table.header, table.rows))
    text += numbers ? "--:|" : "---|";
  text += "\n";
  for (const auto& row : table.rows) text += markdown_row(row);
  return text;
}

Report::Report(ReportConfig config)
    : config_(std::move(config)),
      page_(config_.title, config_.language),
      markdown_(fmt::format("# {}\n", escape_markdown(config_.title))) {
  make_folder(config_.folder / config_.figures);
  print(underlined(config_.title, '='));
}

void Report::section(const std::string& heading) {
  page_.section(heading);
  markdown_ += fmt::format("\n## {}\n", escape_markdown(heading));
  print(underlined(heading, '-'));
}

void Report::paragraph(const std::string& text) {
  page_.paragraph(text);
  plain_text(text);
}

void Report::columns(const std::vector<std::string>& paragraphs) {
  page_.columns(paragraphs);
  for (const auto& text : paragraphs) plain_text(text);
}

/// A paragraph on the terminal and in Markdown.
void Report::plain_text(const std::string& text) {
  markdown_ += fmt::format("\n{}\n", escape_markdown(text));
  print(wrapped(text));
}

void Report::list(const std::vector<std::string>& items) {
  if (items.empty()) return;
  page_.list(items);
  this->items(items, /*numbered=*/false);
}

void Report::numbered(const std::vector<std::string>& items) {
  if (items.empty()) return;
  page_.numbered(items);
  this->items(items, /*numbered=*/true);
}

/// On the terminal and in Markdown.
void Report::items(const std::vector<std::string>& items, bool numbered) {
  std::string lines;
  markdown_ += "\n";
  for (size_t i = 0; i < items.size(); ++i) {
    const auto head = numbered ? fmt::format("{}. ", i + 1) : "- ";
    markdown_ += head + escape_markdown(items[i]) + "\n";
    lines += wrapped(items[i], "  " + head);
  }
  print(lines);
}

void Report::preformatted(const std::string& text) {
  page_.preformatted(text);
  markdown_ += "\n" + indented(text, kTextIndent);
  print(indented(text, kTextIndent));
}

void Report::table(const plot::Table& table) {
  if (!table.title.empty()) page_.paragraph(table.title);
  page_.table(table.header, table.rows);
  markdown_ += "\n" + markdown_table(table);
  print((table.title.empty() ? "" : wrapped(table.title)) +
        indented(table_text(table), kTableIndent));
}

void Report::figure(const std::string& name, const plot::Figure& figure,
                    const std::string& caption) {
  figure.save(config_.folder / config_.figures / name);
  const auto file = config_.figures / (name.ends_with(".png") ? name : name + ".png");
  const auto path = config_.folder / file;
  figure_files_.push_back(path);
  page_.figure(
      {.figure = figure, .caption = caption, .embed = plot::Embed::Png, .png = read_file(path)});
  markdown_ +=
      fmt::format("\n![{}]({})\n", escape_markdown(caption.empty() ? figure.title : caption),
                  file.generic_string());
  if (!caption.empty()) markdown_ += fmt::format("\n{}\n", escape_markdown(caption));
  print(fmt::format(fmt::runtime(config_.figure_note), fmt::arg("path", path.string())) + '\n' +
        (caption.empty() ? "" : wrapped(caption, "  ")));
}

fs::path Report::save(const std::string& file) const {
  const auto path = config_.folder / file;
  check(file.ends_with(".html") || file.ends_with(".md"),
        "report '{}': '{}' is neither .html nor .md", config_.title, file);
  write_file_atomically(path, file.ends_with(".md") ? markdown_ : page_.html());
  return path;
}

/// With a blank line behind it.
void Report::print(const std::string& block) {
  if (config_.terminal != nullptr) *config_.terminal << block << '\n' << std::flush;
}

}  // namespace vitrine::report
