#include "vitrine/labs/lesson.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/translations.h"

namespace vitrine::labs {
namespace {

plot::Figure small_figure() {
  plot::Chart chart{.title = "점"};
  chart.series = {{.y = {1, 2, 3}}};
  return {.panels = {chart}};
}

}  // namespace

TEST(LabTexts, AreTheSameInEveryLanguage) {
  test::expect_same_in_every_language(lab_texts());
  EXPECT_EQ(lab_texts().languages(), (std::vector<std::string>{"en", "ko"}));
}

TEST(Lesson, SaysEachBlockAtOnceAndOnItsPage) {
  const test::TemporaryFolder folder;
  const Translations texts(lab_texts(), "ko");
  std::ostringstream terminal;
  Lesson lesson(texts, "frame", folder / "labs/ko", terminal);
  const auto title = texts.at("frame.title");
  EXPECT_TRUE(terminal.str().starts_with(title + "\n===="));
  lesson.section("index.labs");
  EXPECT_TRUE(test::contains(terminal.str(), texts.at("frame.index.labs") + "\n----\n"));
  lesson.say("quiz.number", fmt::arg("number", 3), fmt::arg("total", 7));
  EXPECT_TRUE(test::contains(terminal.str(), "문제 3 / 7\n"));
  lesson.formula("a < b\nc = d");
  EXPECT_TRUE(test::contains(terminal.str(), "    a < b\n    c = d\n"));
  lesson.table({.title = "표", .header = {"단어", "n"}, .rows = {{"너", "12"}}});
  EXPECT_TRUE(test::contains(terminal.str(), "표\n  단어   n\n  ----  --\n  너    12\n"));
  const auto page = read_file(lesson.save());
  for (const auto& part : {std::string("<html lang=\"ko\">"), "<title>" + title + "</title>",
                           std::string("문제 3 / 7"), std::string("a &lt; b\nc = d"),
                           std::string("<td class=\"number\">12</td>")})
    EXPECT_TRUE(test::contains(page, part));
}

TEST(Lesson, WritesItsFiguresAndSaysWhereTheyAre) {
  const test::TemporaryFolder folder;
  const Translations texts(lab_texts(), "en");
  std::ostringstream terminal;
  Lesson lesson(texts, "frame", folder.path(), terminal);
  lesson.figure("01_dots", small_figure(), "three dots");
  EXPECT_TRUE(fs::exists(folder / "01_dots.png"));
  EXPECT_TRUE(fs::exists(folder / "01_dots.svg"));
  EXPECT_TRUE(test::contains(terminal.str(),
                             "figure: " + (folder / "01_dots.png").string() + "\n  three dots\n"));
  EXPECT_EQ(lesson.save(), folder / "frame.html");
  const auto page = read_file(folder / "frame.html");
  EXPECT_TRUE(test::contains(page, "src=\"data:image/png;base64,iVBORw0KGgo"));
  EXPECT_TRUE(test::contains(page, "<figcaption>three dots</figcaption>"));
}

TEST(Lesson, NothingIsLeftOfOneThatFails) {
  const test::TemporaryFolder folder;
  const Translations texts(lab_texts(), "en");
  std::ostringstream terminal;
  Lesson lesson(texts, "frame", folder.path(), terminal);
  EXPECT_THROW(lesson.say("no_such_text"), Error);
  EXPECT_THROW(lesson.table({.header = {"one"}, .rows = {{"1", "2"}}}), Error);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace vitrine::labs
