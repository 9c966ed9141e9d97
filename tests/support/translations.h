#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "vitrine/report/translations.h"

namespace vitrine::test {

/// The names between a text's braces; doubled braces are text.
inline std::set<std::string> placeholders(const std::string& text) {
  static const std::regex doubled(R"(\{\{|\}\})"), placeholder(R"(\{([^{}:]*)[^{}]*\})");
  const auto plain = std::regex_replace(text, doubled, "");
  std::set<std::string> names;
  for (std::sregex_iterator match(plain.begin(), plain.end(), placeholder), end; match != end;
       ++match)
    names.insert((*match)[1]);
  return names;
}

/// Fails where a language's keys or placeholders differ from the English ones, and where a text is
/// empty.
inline void expect_same_in_every_language(const report::TextSet& set) {
  const report::Translations english(set, "en");
  EXPECT_GT(set.files.size(), 1u) << set.folder;
  for (const auto& language : set.languages()) {
    const report::Translations texts(set, language);
    EXPECT_EQ(texts.keys(), english.keys()) << set.folder << " " << language;
    for (const auto& key : texts.keys()) {
      EXPECT_FALSE(texts.at(key).empty()) << set.folder << " " << language << " " << key;
      if (english.has(key)) {
        EXPECT_EQ(placeholders(texts.at(key)), placeholders(english.at(key)))
            << set.folder << " " << language << " " << key;
      }
    }
  }
}

}  // namespace vitrine::test
