#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::report {

/// The texts of one folder in every language: a file CODE.yaml each, built into the program by
/// `vitrine_texts` (cmake/embed.cmake). A new language is a new file.
struct TextSet {
  struct File {
    std::string language;  // "en", "ko"
    std::string_view yaml;
  };

  std::string folder;  // as messages name it
  std::vector<File> files;

  std::vector<std::string> languages() const;
  /// What LC_ALL, LC_MESSAGES or LANG ask for; English if that is none of the languages.
  std::string default_language() const;
};

/// The texts of a set in one language.
class Translations {
 public:
  /// An unknown language throws and names the known ones.
  Translations(const TextSet& texts, const std::string& language);

  const std::string& language() const { return language_; }
  /// The text under a key such as "lab1.scaling.title"; throws if there is none.
  const std::string& at(const std::string& key) const;
  /// The texts of the list under a key; throws if there is none.
  std::vector<std::string> list(const std::string& key) const;
  bool has(const std::string& key) const { return texts_.contains(key); }
  /// Every key. The items of a list have their numbers as last part: "quiz.1.hint", from 0.
  std::vector<std::string> keys() const;
  /// The text with each {name} replaced: fill("lab1.sum", fmt::arg("sum", 0.5)).
  template <typename... Args>
  std::string fill(const std::string& key, const Args&... args) const {
    return fmt::format(fmt::runtime(at(key)), args...);
  }

 private:
  std::string file_, language_;
  std::map<std::string, std::string> texts_;
};

}  // namespace vitrine::report
