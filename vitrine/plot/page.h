#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/plot/figure.h"

namespace vitrine::plot {

/// How a page holds a figure: as drawing (sharp at any size) or as dots (for many images).
enum class Embed { Svg, Png };

/// A figure of a page with the words under it.
struct PageFigure {
  Figure figure{};
  std::string caption{};
  Embed embed = Embed::Svg;
  std::string png{};  // what `figure.render("png")` gave, where that is at hand
};

/// Words and numbers in columns.
struct Table {
  std::string title{};
  std::vector<std::string> header{};
  std::vector<std::vector<std::string>> rows{};
};

/// Of each column whether all its cells hold numbers, or dashes for none: such columns are set to
/// the right.
std::vector<bool> number_columns(const std::vector<std::string>& header,
                                 const std::vector<std::vector<std::string>>& rows);

/// Something that a page tells of: a link to another page or, where there is none, a note and the
/// command that helps.
struct PageEntry {
  std::string id{};  // what a link to the entry has behind its #
  std::string title{}, text{};
  std::string link{};
  std::string note{}, command{};
  std::string png{};  // a small image beside it; may be empty
  bool wide = false;  // the image stands above the text, as wide as the entry
};

/// A link to another page.
struct PageLink {
  std::string text{}, link{};
};

/// One HTML page that needs nothing but itself: style and figures are inside. All text is shown
/// as it is given.
class Page {
 public:
  /// `language` is the page's BCP 47 tag, such as "en" or "ko".
  Page(std::string title, std::string language);

  void section(const std::string& heading);
  void paragraph(const std::string& text);
  /// Paragraphs side by side in two columns, where the window has room for them.
  void columns(const std::vector<std::string>& paragraphs);
  void list(const std::vector<std::string>& items);
  void numbered(const std::vector<std::string>& items);
  /// Things with a title and a line about them, each in a box of its own.
  void entries(const std::vector<PageEntry>& entries);
  /// Links to other pages, side by side.
  void links(const std::vector<PageLink>& links);
  /// Text on lines of its own in letters of equal width.
  void preformatted(const std::string& text);
  /// Rows as long as the header; columns of numbers are set to the right.
  void table(const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows);
  void figure(const PageFigure& figure);
  /// Figures side by side, as many to a row as the window holds.
  void grid(const std::vector<PageFigure>& figures);

  std::string html() const;
  void save(const fs::path& path) const;

 private:
  void items(const char* tag, const std::vector<std::string>& items);
  std::string figure_html(const PageFigure& figure);

  std::string title_, language_, body_;
  int64_t figures_ = 0;
};

}  // namespace vitrine::plot
