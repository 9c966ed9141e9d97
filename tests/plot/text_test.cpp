#include "vitrine/plot/text.h"

#include <gtest/gtest.h>

#include "vitrine/plot/ticks.h"

namespace vitrine::plot {

using Lines = std::vector<std::string>;

TEST(Text, CleaningKeepsGoodTextAndMarksBrokenBytes) {
  EXPECT_EQ(clean_text("a 한글 é"), "a 한글 é");
  EXPECT_EQ(clean_text("a\tb\nc\x7f"), "a b c ");
  EXPECT_EQ(clean_text("\xc0\xaf"), "\uFFFD\uFFFD");              // overlong
  EXPECT_EQ(clean_text("x\xed\xa0\x80"), "x\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(clean_text("\xed\x95"), "\uFFFD\uFFFD");              // cut off
}

TEST(Text, HangulIsWiderThanLatin) {
  EXPECT_GT(text_width("한글", 10), text_width("ab", 10));
  EXPECT_GT(text_width("ab", 10, /*bold=*/true), text_width("ab", 10));
}

TEST(Text, WrapsAtSpacesThenWithinWordsThenShortens) {
  EXPECT_EQ(wrap_text("one two", 1000, 10, 3), Lines{"one two"});
  EXPECT_EQ(wrap_text("one two", 25, 10, 3), (Lines{"one", "two"}));
  EXPECT_EQ(wrap_text("aaaaaa", 20, 10, 3), (Lines{"aaa", "aaa"}));
  EXPECT_EQ(wrap_text("한글한글", 20, 10, 1), Lines{"한…"});
  EXPECT_TRUE(wrap_text("  ", 20, 10, 1).empty());
  for (const auto& line : wrap_text("a_rather_long_name of some file.png", 60, 11, 5))
    EXPECT_LE(text_width(line, 11), 60) << line;
}

TEST(Ticks, AreRoundNumbersWithinTheSpan) {
  EXPECT_EQ(linear_ticks(0, 1, 5).labels, (Lines{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(linear_ticks(-3, 4, 4).labels, (Lines{"−2", "0", "2", "4"}));
  EXPECT_EQ(linear_ticks(0, 2e6, 2).labels, (Lines{"0", "1M", "2M"}));
  EXPECT_EQ(linear_ticks(1, 3, 10, /*whole=*/true).labels, (Lines{"1", "2", "3"}));
  EXPECT_EQ(linear_ticks(0, 2e-5, 2).labels, (Lines{"0", "1·10⁻⁵", "2·10⁻⁵"}));
}

TEST(Ticks, OfALogAxisArePowersOfTen) {
  const auto ticks = log_ticks(1e-6, 1, 6);
  EXPECT_EQ(ticks.labels.front(), "10⁻⁶");
  EXPECT_EQ(ticks.labels.back(), "1");
  EXPECT_NEAR(ticks.position(1e-3), 0.5, 1e-12);
  EXPECT_GE(log_ticks(2.1, 2.9, 6).at.size(), 2u);
  EXPECT_EQ(log_ticks(222, 707, 6).labels, (Lines{"300", "400", "500", "600", "700"}));
}

}  // namespace vitrine::plot
