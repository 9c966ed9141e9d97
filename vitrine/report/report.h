#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/plot/figure.h"
#include "vitrine/plot/page.h"

namespace vitrine::report {

/// What a report is called and where its parts go.
struct ReportConfig {
  std::string title{};
  std::string language = "en";                 // BCP 47
  fs::path folder{};                           // of the report's files
  fs::path figures{};                          // of its figures, inside `folder`; empty: beside it
  std::ostream* terminal = nullptr;            // where each block is printed at once, if anywhere
  std::string figure_note = "figure: {path}";  // how the terminal says where a figure is
};

/// Headings, text, tables and figures, block after block. Every block goes to the HTML page and to
/// the Markdown text and is printed on the terminal, if there is one.
class Report {
 public:
  /// Makes the folders and prints the title.
  explicit Report(ReportConfig config);

  void section(const std::string& heading);
  void paragraph(const std::string& text);
  /// Paragraphs that stand side by side on the page, where the window has room for them.
  void columns(const std::vector<std::string>& paragraphs);
  /// A list; nothing if there are no items.
  void list(const std::vector<std::string>& items);
  void numbered(const std::vector<std::string>& items);
  /// A formula, a command or any text whose lines shall stay as they are.
  void preformatted(const std::string& text);
  /// A table under its title; columns of numbers are set to the right.
  void table(const plot::Table& table);
  /// Writes the figure as `name`.png and .svg, or only as PNG if the name ends so. Its alternative
  /// text is the caption or, if that is empty, the figure's title.
  void figure(const std::string& name, const plot::Figure& figure, const std::string& caption);

  /// Links to other pages; on the HTML page only.
  void links(const std::vector<plot::PageLink>& links) { page_.links(links); }
  /// Things with an image and a link each; on the HTML page only.
  void entries(const std::vector<plot::PageEntry>& entries) { page_.entries(entries); }

  const fs::path& folder() const { return config_.folder; }
  /// The PNG files of the figures.
  const std::vector<fs::path>& figure_files() const { return figure_files_; }

  /// Writes the page (if `file` ends in .html) or the Markdown text (.md) into the folder and
  /// returns the file's path.
  fs::path save(const std::string& file) const;

 private:
  void plain_text(const std::string& text);
  void items(const std::vector<std::string>& items, bool numbered);
  void print(const std::string& block);

  ReportConfig config_;
  plot::Page page_;
  std::string markdown_;
  std::vector<fs::path> figure_files_;
};

/// A table of Markdown under its title.
std::string markdown_table(const plot::Table& table);

}  // namespace vitrine::report
