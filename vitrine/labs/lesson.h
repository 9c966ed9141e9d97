#pragma once

#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/report/report.h"
#include "vitrine/report/translations.h"

namespace vitrine {
/// What the labs say in every language: the files of vitrine/labs/text.
const report::TextSet& lab_texts();
}  // namespace vitrine

namespace vitrine::labs {

using report::Translations;

/// A row of a table, or any list of texts.
using Cells = std::vector<std::string>;

/// What a lab teaches, block after block: each is printed at once, and all of them become the
/// lab's page. Keys are those of the lab's own texts: `say("sum")` in lab 1 says "lab1.sum".
class Lesson {
 public:
  /// `topic` is the first part of its texts' keys, and the name of its page.
  Lesson(const Translations& texts, std::string topic, fs::path folder, std::ostream& terminal)
      : texts_(texts),
        topic_(std::move(topic)),
        report_({.title = word("title"),
                 .language = texts.language(),
                 .folder = std::move(folder),
                 .terminal = &terminal,
                 .figure_note = texts.at("frame.figure")}) {}

  /// The text under a key, with its {name}s replaced.
  template <typename... Args>
  std::string word(const std::string& key, const Args&... args) const {
    return texts_.fill(full(key), args...);
  }
  /// The list of texts under a key.
  Cells words(const std::string& key) const { return texts_.list(full(key)); }
  /// The texts under several keys.
  Cells words(std::initializer_list<const char*> keys) const {
    Cells texts;
    for (const auto* key : keys) texts.push_back(word(key));
    return texts;
  }

  /// Starts a part of the lesson under the heading `key`.
  void section(const std::string& key) { report_.section(word(key)); }
  /// A paragraph.
  template <typename... Args>
  void say(const std::string& key, const Args&... args) {
    report_.paragraph(word(key, args...));
  }
  /// A formula on a line of its own; the same in every language.
  void formula(const std::string& text) { report_.preformatted(text); }
  void table(const plot::Table& table) { report_.table(table); }
  /// A table whose texts are `key`.title and the list `key`.header.
  template <typename... Args>
  void table(const std::string& key, std::vector<Cells> rows, const Args&... title_args) {
    table({word(key + ".title", title_args...), words(key + ".header"), std::move(rows)});
  }
  /// Writes the figure as <folder>/<name>.png and .svg and says where it is.
  void figure(const std::string& name, const plot::Figure& figure, const std::string& caption) {
    report_.figure(name, figure, caption);
  }

  /// Links to other pages, on the page only.
  void links(const std::vector<plot::PageLink>& links) { report_.links(links); }

  /// Writes the page, <folder>/<topic>.html, and returns its path.
  fs::path save() const { return report_.save(topic_ + ".html"); }

 private:
  std::string full(const std::string& key) const { return topic_ + "." + key; }

  const Translations& texts_;
  std::string topic_;
  report::Report report_;
};

}  // namespace vitrine::labs
