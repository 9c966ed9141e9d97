#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace vitrine::labs {

/// All that the labs say in one language. The texts of a language are one file, text/<code>.yaml,
/// built into the program; a new language is a new file.
class Translations {
 public:
  /// The codes of the languages there are: "en", "ko".
  static std::vector<std::string> languages();
  /// What LC_ALL, LC_MESSAGES or LANG ask for; English if that is none of the languages.
  static std::string default_language();

  /// An unknown code throws and names the known ones.
  explicit Translations(const std::string& language);

  const std::string& language() const { return language_; }
  /// The text under a key such as "lab1.scaling.title"; throws if there is none.
  const std::string& at(const std::string& key) const;
  bool has(const std::string& key) const { return texts_.contains(key); }
  /// Every key. The items of a list have their numbers as last part: "quiz.1.hint", from 0.
  std::vector<std::string> keys() const;
  /// The text with each {name} replaced: fill("lab1.sum", fmt::arg("sum", 0.5)).
  template <typename... Args>
  std::string fill(const std::string& key, const Args&... args) const {
    return fmt::format(fmt::runtime(at(key)), args...);
  }

 private:
  std::string language_;
  std::map<std::string, std::string> texts_;
};

}  // namespace vitrine::labs
