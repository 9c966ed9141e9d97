#include "vitrine/labs/index.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/labs/lab.h"
#include "vitrine/plot/markup.h"

namespace vitrine::labs {

TEST(LabIndex, LinksThePagesThatExistAndTellsHowToMakeTheOthers) {
  for (const auto& language : Translations::languages()) {
    const test::TemporaryFolder folder;
    const Translations words(language);
    for (const auto* page : {"lab1.html", "heads.html"})
      write_file_atomically(folder / page, "a page");
    EXPECT_EQ(write_index(words, folder.path()), folder / "index.html");
    const auto html = read_file(folder / "index.html");
    EXPECT_TRUE(test::contains(html, "<a href=\"lab1.html\">"));
    EXPECT_TRUE(test::contains(html, "<a href=\"heads.html\">"));
    EXPECT_EQ(html.find("href=\"lab2.html\""), std::string::npos);
    EXPECT_TRUE(test::contains(html, "<code>vitrine lab 2 --lang " + language + "</code>"));
    EXPECT_TRUE(
        test::contains(html, "<code>vitrine lab exercise rnn --lang " + language + "</code>"));
    for (const auto* registry : {&labs(), &exercises()})
      for (const auto& [name, lab] : *registry) {
        EXPECT_TRUE(test::contains(html, plot::escape_markup(words.at(lab.topic + ".title"))));
        EXPECT_TRUE(
            test::contains(html, plot::escape_markup(words.at("frame.summary." + lab.topic))));
      }
    EXPECT_TRUE(test::contains(html, plot::escape_markup(words.at("frame.index.steps.5"))));
  }
}

}  // namespace vitrine::labs
