#include "vitrine/plot/page.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine::plot {
namespace {

Figure dots(const std::string& title) {
  Chart chart{.title = title};
  chart.series = {{.y = {1, 2, 3}, .mark = Mark::Points}};
  return {.panels = {chart}};
}

const std::string kNasty = "<script>alert(\"1\")</script> & 'x'";

}  // namespace

TEST(Page, EscapesAllText) {
  Page page(kNasty, "ko\" onload=\"x");
  page.section(kNasty);
  page.paragraph(kNasty + " 한국어");
  page.list({kNasty});
  page.preformatted(kNasty + "\nsecond line");
  page.table({kNasty, "n"}, {{kNasty, "1"}});
  page.figure({.figure = dots(kNasty), .caption = kNasty, .embed = Embed::Png});
  page.figure({.figure = dots(kNasty), .caption = kNasty});
  const auto html = page.html();
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("\" onload"), std::string::npos);
  EXPECT_TRUE(test::contains(
      html, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; 한국어"));
  EXPECT_TRUE(test::contains(html, "\nsecond line"));
}

TEST(Page, HoldsItsFiguresAndNothingFromOutside) {
  Page page("결과", "ko");
  page.figure({.figure = dots("first"), .caption = "점 세 개", .embed = Embed::Png});
  page.grid({{.figure = dots("second")}, {.figure = dots("third")}});
  const auto html = page.html();
  EXPECT_TRUE(test::contains(html, "<html lang=\"ko\">"));
  EXPECT_TRUE(test::contains(html, "src=\"data:image/png;base64,iVBORw0KGgo"));
  EXPECT_TRUE(test::contains(html, "<figcaption>점 세 개</figcaption>"));
  EXPECT_TRUE(test::contains(html, "second"));
  EXPECT_EQ(html.find("<?xml"), std::string::npos);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_EQ(html.find("href='http"), std::string::npos);
}

TEST(Page, KeepsTheIdsOfItsDrawingsApart) {
  Page page("ids", "en");
  page.grid({{.figure = dots("a")}, {.figure = dots("b")}});
  const auto html = page.html();
  for (const auto* id :
       {"id='figure1-gpPt6'", "id='figure2-gpPt6'", "'#figure1-gpPt6'", "'#figure2-gpPt6'"})
    EXPECT_TRUE(test::contains(html, id));
  EXPECT_EQ(html.find("'#gpPt"), std::string::npos);
}

TEST(Page, SetsColumnsOfNumbersToTheRight) {
  Page page("table", "en");
  page.table({"model", "accuracy"}, {{"vit", "81.2 ± 0.3"}, {"cnn", "90%"}});
  EXPECT_TRUE(test::contains(page.html(), "<td>vit</td><td class=\"number\">81.2 ± 0.3</td>"));
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               page.table({"a"}, {{"1", "2"}});
                             }),
                             "2 cells under 1 headings"));
}

TEST(Page, SavesOneFile) {
  test::TemporaryFolder folder;
  Page page("saved", "en");
  page.paragraph("text");
  page.save(folder / "page.html");
  EXPECT_EQ(read_file(folder / "page.html"), page.html());
}

}  // namespace vitrine::plot
