#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/labs/lab.h"
#include "vitrine/plot/markup.h"

namespace vitrine::labs {

TEST(LabIndex, LinksThePagesThatExistAndTellsHowToMakeTheOthers) {
  for (const auto& language : lab_texts().languages()) {
    const test::TemporaryFolder folder;
    const Translations texts(lab_texts(), language);
    for (const auto* page : {"lab1.html", "heads.html"})
      write_file_atomically(folder / page, "a page");
    const auto arguments = "--lang " + language + " --out 'my labs'";
    EXPECT_EQ(write_index(texts, folder.path(), arguments), folder / "index.html");
    const auto html = read_file(folder / "index.html");
    EXPECT_TRUE(test::contains(html, "<a href=\"lab1.html\">"));
    EXPECT_TRUE(test::contains(html, "<a href=\"heads.html\">"));
    EXPECT_EQ(html.find("href=\"lab2.html\""), std::string::npos);
    EXPECT_TRUE(
        test::contains(html, plot::escape_markup("vitrine lab 2 " + arguments) + "</code>"));
    EXPECT_TRUE(test::contains(
        html, plot::escape_markup("vitrine lab exercise rnn " + arguments) + "</code>"));
    for (const auto* registry : {&labs(), &lab_exercises()})
      for (const auto& [name, lab] : *registry) {
        EXPECT_TRUE(test::contains(html, plot::escape_markup(texts.at(lab.topic + ".title"))));
        EXPECT_TRUE(
            test::contains(html, plot::escape_markup(texts.at("frame.summary." + lab.topic))));
      }
    EXPECT_TRUE(test::contains(html, plot::escape_markup(texts.at("frame.index.steps.5"))));
  }
}

TEST(LabIndex, ShowsAFigureOfEachPageThatExists) {
  const test::TemporaryFolder folder;
  const Translations texts(lab_texts(), "en");
  write_file_atomically(folder / "lab1.html", "a page");
  const auto html = [&] { return read_file(write_index(texts, folder.path(), "")); };
  EXPECT_EQ(html().find("<img"), std::string::npos);
  for (const auto* lab : {"1", "2"})
    write_png(folder / (labs().get(lab).figure + ".png"), Image(1200, 600));
  const auto shown = html();
  const auto first = shown.find("<img src=\"data:image/png;base64,");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(shown.find("<img", first + 1), std::string::npos);  // lab 2 has no page
  EXPECT_LT(shown.size(), 50'000u);
}

TEST(LabIndex, PagesLinkToTheirNeighboursOnceTheseExist) {
  const test::TemporaryFolder folder;
  const Translations texts(lab_texts(), "ko");
  std::ostringstream terminal;
  const auto page_of = [&](const std::string& name) {
    auto lab = labs().get(name);
    lab.teach = [](Lesson& lesson, const LabOptions&) { lesson.say("intro"); };
    return run_lab(lab, texts, {.folder = folder.path()}, terminal, "").first;
  };
  const auto one = page_of("1");
  EXPECT_TRUE(test::contains(read_file(one), "<a href=\"index.html\">"));
  EXPECT_TRUE(test::contains(read_file(one), "<a href=\"index.html#lab2\">다음: "));
  EXPECT_TRUE(test::contains(read_file(folder / "index.html"), "<li id=\"lab2\">"));
  const auto two = page_of("2");
  EXPECT_TRUE(test::contains(read_file(two), "<a href=\"lab1.html\">이전: "));
  EXPECT_TRUE(test::contains(read_file(one), "<a href=\"lab2.html\">다음: "));
  EXPECT_EQ(read_file(one).find("index.html#lab2"), std::string::npos);
}

}  // namespace vitrine::labs
