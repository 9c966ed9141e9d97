#include "vitrine/report/report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine::report {
namespace {

plot::Figure dots() {
  plot::Chart chart{.title = "점"};
  chart.series = {{.y = {1, 2, 3}}};
  return {.title = "Dots", .panels = {chart}};
}

plot::Table table() {
  return {.title = "Sizes", .header = {"name", "n"}, .rows = {{"a|b", "12"}, {"c", "3"}}};
}

}  // namespace

TEST(Report, SaysTheSameOnPageInMarkdownAndOnTheTerminal) {
  const test::TemporaryFolder folder;
  std::ostringstream terminal;
  Report report({.title = "A *title*", .folder = folder / "out", .terminal = &terminal});
  EXPECT_EQ(terminal.str(), "A *title*\n=========\n\n");
  report.section("Part");
  report.paragraph("2 < 3");
  report.list({"one", "two"});
  report.numbered({"first", "second"});
  report.preformatted("x = y\nz = *");
  report.table(table());
  EXPECT_EQ(terminal.str(),
            "A *title*\n=========\n\nPart\n----\n\n2 < 3\n\n  - one\n  - two\n\n  1. first\n"
            "  2. second\n\n    x = y\n    z = *\n\nSizes\n  name   n\n  ----  --\n  a|b   12\n"
            "  c      3\n\n");
  EXPECT_EQ(report.save("report.md"), folder / "out/report.md");
  EXPECT_EQ(read_file(folder / "out/report.md"),
            "# A \\*title\\*\n\n## Part\n\n2 \\< 3\n\n- one\n- two\n\n1. first\n2. second\n\n"
            "    x = y\n    z = *\n\n### Sizes\n\n| name | n |\n|---|--:|\n| a\\|b | 12 |\n"
            "| c | 3 |\n");
  const auto page = read_file(report.save("report.html"));
  for (const auto* part :
       {"<html lang=\"en\">", "<h2>Part</h2>", "<p>2 &lt; 3</p>", "<ul>\n<li>one</li>",
        "<ol>\n<li>first</li>", "<pre>x = y\nz = *\n</pre>", "<td class=\"number\">12</td>"})
    EXPECT_TRUE(test::contains(page, part));
}

TEST(Report, WritesFiguresAndShowsThemEverywhere) {
  const test::TemporaryFolder folder;
  std::ostringstream terminal;
  Report report({.title = "t",
                 .language = "ko",
                 .folder = folder.path(),
                 .figures = "figures",
                 .terminal = &terminal,
                 .figure_note = "그림: {path}"});
  report.figure("dots", dots(), "three dots");
  report.figure("plain.png", dots(), "");
  EXPECT_TRUE(fs::exists(folder / "figures/dots.png"));
  EXPECT_TRUE(fs::exists(folder / "figures/dots.svg"));
  EXPECT_FALSE(fs::exists(folder / "figures/plain.svg"));
  EXPECT_EQ(report.figure_files(),
            (std::vector<fs::path>{folder / "figures/dots.png", folder / "figures/plain.png"}));
  EXPECT_TRUE(test::contains(
      terminal.str(), "그림: " + (folder / "figures/dots.png").string() + "\n  three dots\n"));
  const auto markdown = read_file(report.save("report.md"));
  EXPECT_TRUE(test::contains(markdown, "\n![three dots](figures/dots.png)\n\nthree dots\n"));
  EXPECT_TRUE(test::contains(markdown, "\n![Dots](figures/plain.png)\n"));
  const auto page = read_file(report.save("report.html"));
  EXPECT_TRUE(test::contains(page, "alt=\"three dots\""));
  EXPECT_TRUE(test::contains(page, "alt=\"Dots\""));
  EXPECT_TRUE(test::contains(page, "<figcaption>three dots</figcaption>"));
}

TEST(Report, SetsParagraphsSideBySideOnThePageOnly) {
  const test::TemporaryFolder folder;
  std::ostringstream terminal;
  Report report({.title = "t", .folder = folder.path(), .terminal = &terminal});
  report.columns({"left text", "right text"});
  EXPECT_TRUE(
      test::contains(read_file(report.save("report.html")),
                     "<div class=\"columns\">\n<p>left text</p>\n<p>right text</p>\n</div>"));
  EXPECT_EQ(read_file(report.save("report.md")), "# t\n\nleft text\n\nright text\n");
  EXPECT_TRUE(test::contains(terminal.str(), "left text\n\nright text\n"));
}

TEST(Report, AnEmptyListIsNothing) {
  const test::TemporaryFolder folder;
  Report report({.title = "t", .folder = folder.path()});
  report.list({});
  report.numbered({});
  EXPECT_EQ(read_file(report.save("report.md")), "# t\n");
  EXPECT_EQ(read_file(report.save("report.html")).find("<ul>"), std::string::npos);
}

TEST(Report, RefusesOtherFiles) {
  const test::TemporaryFolder folder;
  const Report report({.title = "t", .folder = folder.path()});
  EXPECT_TRUE(test::contains(test::error_of([&] { report.save("report.pdf"); }), "'report.pdf'"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace vitrine::report
