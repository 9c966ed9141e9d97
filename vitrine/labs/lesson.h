#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/labs/translations.h"
#include "vitrine/plot/figure.h"
#include "vitrine/plot/page.h"

namespace vitrine::labs {

/// What a lab teaches, block after block: each is printed at once, and all of them become the
/// lab's page. Keys are those of the lab's own texts: `say("sum")` in lab 1 says "lab1.sum".
class Lesson {
 public:
  /// `topic` is the first part of its texts' keys, and the name of its page.
  Lesson(const Translations& words, std::string topic, fs::path folder, std::ostream& terminal);

  /// The text under a key, with its {name}s replaced.
  template <typename... Args>
  std::string word(const std::string& key, const Args&... args) const {
    return words_.fill(topic_ + "." + key, args...);
  }

  /// Starts a part of the lesson under the heading `key`.
  void section(const std::string& key);
  /// A paragraph.
  template <typename... Args>
  void say(const std::string& key, const Args&... args) {
    paragraph(word(key, args...));
  }
  /// A formula on a line of its own; the same in every language.
  void formula(const std::string& text);
  /// An aligned table under its title.
  void table(const plot::Table& table);
  /// Writes the figure as <folder>/<name>.png and .svg and says where it is.
  void figure(const std::string& name, const plot::Figure& figure, const std::string& caption);

  /// Writes the page, <folder>/<topic>.html, and returns its path.
  fs::path save() const;

 private:
  void paragraph(const std::string& text);

  const Translations& words_;
  std::string topic_;
  fs::path folder_;
  std::ostream& terminal_;
  plot::Page page_;
};

}  // namespace vitrine::labs
