#include "vitrine/report/terminal.h"

#include <gtest/gtest.h>

#include <sstream>

namespace vitrine::report {

TEST(Terminal, HangulTakesTwoColumns) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("attention"), 9);
  EXPECT_EQ(display_width("어텐션"), 6);
  EXPECT_EQ(display_width("어텐션(attention)"), 17);
  EXPECT_EQ(display_width("漢字、１"), 8);
  EXPECT_EQ(display_width("√d ± é"), 6);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("\u1112\u1161\u11AB"), 2);  // 한, letter by letter
  EXPECT_EQ(display_width("a\xFFz"), 3);
}

TEST(Terminal, TextIsWrappedAtSpaces) {
  for (const std::string word : {"attention", "어텐션"}) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += word + (i % 7 == 0 ? "  " : " ");
    std::istringstream lines(wrapped(text, "  1) "));
    int count = 0, words = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_LE(display_width(line), kColumns);
      EXPECT_GT(display_width(line + " " + word), count == 0 ? kColumns : 5);
      EXPECT_TRUE(line.starts_with(count == 0 ? "  1) " + word : "     " + word)) << line;
      for (size_t at = 0; (at = line.find(word, at)) != std::string::npos; ++at) ++words;
    }
    EXPECT_GT(count, 1);
    EXPECT_EQ(words, 60);
  }
  EXPECT_EQ(wrapped("one  two\nthree"), "one two three\n");
  EXPECT_EQ(wrapped(""), "\n");
  const std::string longest(100, 'x');
  EXPECT_EQ(wrapped("a " + longest + " b"), "a\n" + longest + "\nb\n");
}

TEST(Terminal, LinesAreIndentedAndUnderlined) {
  EXPECT_EQ(indented("a = b\nc = d", 2), "  a = b\n  c = d\n");
  EXPECT_EQ(underlined("점수 QK", '-'), "점수 QK\n-------\n");
}

TEST(Terminal, TablesAreAligned) {
  const plot::Table table{.header = {"단어", "weight", "note"},
                          .rows = {{"고양이", "0.5", "cat"}, {"mat", "-12.25", "매트"}}};
  EXPECT_EQ(table_text(table),
            "단어    weight  note\n"
            "------  ------  ----\n"
            "고양이     0.5  cat\n"
            "mat     -12.25  매트\n");
}

TEST(Terminal, OnlyColumnsOfNumbersAreSetRight) {
  const plot::Table table{.header = {"mse", "steps"}, .rows = {{"0.1 ± 0.02", "1"}, {"3", "O(n)"}}};
  EXPECT_EQ(table_text(table),
            "       mse  steps\n"
            "----------  -----\n"
            "0.1 ± 0.02  1\n"
            "         3  O(n)\n");
}

}  // namespace vitrine::report
