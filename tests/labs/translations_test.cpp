#include "vitrine/labs/translations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "tests/support/errors.h"

namespace vitrine::labs {
namespace {

/// The names between braces; doubled braces are text.
std::set<std::string> placeholders(const std::string& text) {
  static const std::regex doubled(R"(\{\{|\}\})"), placeholder(R"(\{([^{}:]*)[^{}]*\})");
  const auto plain = std::regex_replace(text, doubled, "");
  std::set<std::string> names;
  for (std::sregex_iterator match(plain.begin(), plain.end(), placeholder), end; match != end;
       ++match)
    names.insert((*match)[1]);
  return names;
}

/// Sets the locale's variables for one test; an empty text removes one.
class Locale {
 public:
  explicit Locale(const std::map<std::string, std::string>& values) {
    for (const std::string name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
      const char* before = std::getenv(name.c_str());
      before_[name] = before ? std::optional<std::string>(before) : std::nullopt;
      set(name, values.contains(name) ? std::optional(values.at(name)) : std::nullopt);
    }
  }
  Locale(const Locale&) = delete;
  Locale& operator=(const Locale&) = delete;
  ~Locale() {
    for (const auto& [name, value] : before_) set(name, value);
  }

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), /*overwrite=*/1);
    else
      ::unsetenv(name.c_str());
  }

  std::map<std::string, std::optional<std::string>> before_;
};

std::string language_under(const std::map<std::string, std::string>& values) {
  const Locale locale(values);
  return Translations::default_language();
}

}  // namespace

TEST(Translations, EveryLanguageSaysTheSameThings) {
  const Translations english("en");
  const auto languages = Translations::languages();
  EXPECT_NE(std::find(languages.begin(), languages.end(), "ko"), languages.end());
  for (const auto& language : languages) {
    const Translations words(language);
    EXPECT_EQ(words.keys(), english.keys()) << language;
    for (const auto& key : words.keys()) {
      EXPECT_FALSE(words.at(key).empty()) << language << " " << key;
      if (english.has(key)) {
        EXPECT_EQ(placeholders(words.at(key)), placeholders(english.at(key)))
            << language << " " << key;
      }
    }
  }
}

TEST(Translations, FillReplacesNamesAndListsAreNumbered) {
  const Translations words("en");
  EXPECT_EQ(words.fill("frame.figure", fmt::arg("path", "a.png")), "figure: a.png");
  EXPECT_TRUE(words.has("quiz.0.choices.1"));
  EXPECT_TRUE(test::contains(test::error_of([&] { words.at("lab1.no_such_text"); }),
                             "text/en.yaml has no text 'lab1.no_such_text'"));
}

TEST(Translations, AnUnknownLanguageIsRefused) {
  const auto error = test::error_of([] { Translations("tlh"); });
  EXPECT_TRUE(test::contains(error, "language 'tlh' is not known"));
  EXPECT_TRUE(test::contains(error, "en, ko"));
}

TEST(Translations, TheEnvironmentChoosesTheLanguage) {
  EXPECT_EQ(language_under({{"LANG", "ko_KR.UTF-8"}}), "ko");
  EXPECT_EQ(language_under({{"LANG", "ko"}}), "ko");
  EXPECT_EQ(language_under({{"LANG", "en_GB.UTF-8"}, {"LC_MESSAGES", "ko_KR.UTF-8"}}), "ko");
  EXPECT_EQ(language_under({{"LANG", "ko_KR.UTF-8"}, {"LC_ALL", "C.UTF-8"}}), "en");
  EXPECT_EQ(language_under({{"LANG", "ko_KR.UTF-8"}, {"LC_ALL", ""}}), "ko");
  EXPECT_EQ(language_under({{"LANG", "xx_XX"}}), "en");
  EXPECT_EQ(language_under({}), "en");
}

}  // namespace vitrine::labs
