#include "vitrine/report/translations.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "tests/support/errors.h"
#include "tests/support/translations.h"

namespace vitrine::report {
namespace {

const TextSet kTexts{"some/text",
                     {{"en", "a:\n  sum: '{sum:.1f} in all'\nsteps: [one, two]\n"},
                      {"ko", "a:\n  sum: '모두 {sum:.1f}'\nsteps: [하나, 둘]\n"}}};

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
  return kTexts.default_language();
}

}  // namespace

TEST(Translations, FillsPlaceholdersAndNumbersLists) {
  const Translations texts(kTexts, "ko");
  EXPECT_EQ(texts.fill("a.sum", fmt::arg("sum", 0.25)), "모두 0.2");
  EXPECT_EQ(texts.list("steps"), (std::vector<std::string>{"하나", "둘"}));
  EXPECT_EQ(texts.keys(), (std::vector<std::string>{"a.sum", "steps.0", "steps.1"}));
}

TEST(Translations, AMissingTextThrowsWithItsFileAndKey) {
  const Translations texts(kTexts, "en");
  EXPECT_FALSE(texts.has("a.no"));
  EXPECT_EQ(test::error_of([&] { texts.at("a.no"); }), "some/text/en.yaml has no text 'a.no'");
  EXPECT_EQ(test::error_of([&] { texts.list("a"); }), "some/text/en.yaml has no text 'a.0'");
}

TEST(Translations, AnUnknownLanguageIsRefused) {
  const auto error = test::error_of([] { Translations(kTexts, "tlh"); });
  EXPECT_TRUE(test::contains(error, "language 'tlh' is not known"));
  EXPECT_TRUE(test::contains(error, "en, ko"));
}

TEST(Translations, ComparisonOfLanguagesSeesPlaceholders) {
  test::expect_same_in_every_language(kTexts);
  EXPECT_EQ(test::placeholders("{a:.2f} {{b}} {c}"), (std::set<std::string>{"a", "c"}));
  const TextSet unlike{"some/text", {{"en", "a: '{x}'"}, {"ko", "a: '{y}'"}}};
  EXPECT_NONFATAL_FAILURE(test::expect_same_in_every_language(unlike), "some/text ko a");
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

}  // namespace vitrine::report
