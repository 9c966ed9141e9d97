#include "vitrine/labs/lesson.h"

#include "vitrine/labs/terminal.h"

namespace vitrine::labs {
namespace {

constexpr int64_t kFormulaIndent = 4, kTableIndent = 2;

/// A block and the blank line behind it, on screen at once.
void print_block(std::ostream& terminal, const std::string& block) {
  terminal << block << '\n' << std::flush;
}

}  // namespace

Lesson::Lesson(const Translations& words, std::string topic, fs::path folder,
               std::ostream& terminal)
    : words_(words),
      topic_(std::move(topic)),
      folder_(std::move(folder)),
      terminal_(terminal),
      page_(word("title"), words.language()) {
  make_folder(folder_);
  print_block(terminal_, underlined(word("title"), '='));
}

void Lesson::section(const std::string& key) {
  page_.section(word(key));
  print_block(terminal_, underlined(word(key), '-'));
}

void Lesson::paragraph(const std::string& text) {
  page_.paragraph(text);
  print_block(terminal_, wrapped(text));
}

void Lesson::formula(const std::string& text) {
  page_.preformatted(text);
  print_block(terminal_, indented(text, kFormulaIndent));
}

void Lesson::table(const plot::Table& table) {
  if (!table.title.empty()) page_.paragraph(table.title);
  page_.table(table.header, table.rows);
  print_block(terminal_, (table.title.empty() ? "" : wrapped(table.title)) +
                             indented(table_text(table), kTableIndent));
}

void Lesson::figure(const std::string& name, const plot::Figure& figure,
                    const std::string& caption) {
  figure.save(folder_ / name);
  const auto png = folder_ / (name + ".png");
  page_.figure(
      {.figure = figure, .caption = caption, .embed = plot::Embed::Png, .png = read_file(png)});
  print_block(terminal_, words_.fill("frame.figure", fmt::arg("path", png.string())) + '\n' +
                             (caption.empty() ? "" : wrapped(caption, "  ")));
}

fs::path Lesson::save() const {
  const auto path = folder_ / (topic_ + ".html");
  page_.save(path);
  return path;
}

}  // namespace vitrine::labs
