#include "vitrine/plot/figure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace vitrine::plot {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Figure small_figure(std::vector<double> y = {3, 1, 2}) {
  Chart chart{.title = "loss curve", .x = {.label = "epoch"}, .y = {.label = "loss (nats)"}};
  chart.series = {{.name = "train", .y = std::move(y)}};
  return {.title = "a figure", .panels = {chart}};
}

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return value;
}

/// Passes if the bytes are a whole PNG of at least 200 x 100 dots.
testing::AssertionResult is_png(const std::string& bytes) {
  if (!bytes.starts_with("\x89PNG\r\n\x1a\n")) return testing::AssertionFailure() << "no PNG";
  if (bytes.find("IEND") == std::string::npos) return testing::AssertionFailure() << "cut off";
  const auto width = big_endian(bytes, 16), height = big_endian(bytes, 20);
  if (width < 200 || height < 100)
    return testing::AssertionFailure() << "only " << width << " x " << height;
  return testing::AssertionSuccess();
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

Image gradient(int64_t side, int64_t channels) {
  Image image(side, side, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i);
  return image;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Another value for an environment variable, until the end of the scope.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name), before_(variable(name)) {
    setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (before_.empty())
      unsetenv(name_);
    else
      setenv(name_, before_.c_str(), 1);
  }

 private:
  const char* name_;
  std::string before_;
};

}  // namespace

TEST(Figure, SavesPngAndSvgWithoutAnExtension) {
  test::TemporaryFolder folder;
  small_figure().save(folder / "run.v2");
  EXPECT_TRUE(is_png(read_file(folder / "run.v2.png")));
  const auto svg = read_file(folder / "run.v2.svg");
  for (const auto* text : {"a figure", "loss curve", "epoch", "loss (nats)", "train", "</svg>"})
    EXPECT_TRUE(test::contains(svg, text));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

TEST(Figure, SavesOnlyTheFormatThatTheExtensionNames) {
  test::TemporaryFolder folder;
  small_figure().save(folder / "a.svg");
  small_figure().save(folder / "b.png");
  EXPECT_TRUE(fs::exists(folder / "a.svg"));
  EXPECT_TRUE(is_png(read_file(folder / "b.png")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

TEST(Figure, LeavesNoTemporaryFilesBehind) {
  test::TemporaryFolder folder;
  const Environment scratch("TMPDIR", folder.path().string());
  small_figure().render("png");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Figure, WorksInATemporaryFolderWithAnAwkwardName) {
  test::TemporaryFolder folder;
  const auto awkward = folder / "it's a \"place\" `x` 폴더";
  fs::create_directory(awkward);
  const Environment scratch("TMPDIR", awkward.string());
  EXPECT_TRUE(is_png(small_figure().render("png")));
}

TEST(Figure, ShowsAnyTextAsItIs) {
  test::TemporaryFolder folder;
  const auto marker = (folder / "made").string();
  const std::string name = "50% {a}_b^c @y $x \\n #1 'q' ~|";
  const auto command = "`touch " + marker + "`";
  Chart chart{.title = name, .x = {.label = command, .names = {name, command, "한글 이름", "%d"}}};
  chart.series = {{.name = name, .y = {1, 2, 3, 4}, .mark = Mark::Bars}};
  const auto svg = Figure{.title = "제목: <b>&", .panels = {chart}}.render("svg");
  EXPECT_GE(count(svg, "50% {a}_b^c @y $x \\n"), 2u);
  EXPECT_TRUE(test::contains(svg, "한글 이름"));
  EXPECT_TRUE(test::contains(svg, ">%d<"));
  EXPECT_TRUE(test::contains(svg, "제목: &lt;b>&amp;"));
  EXPECT_FALSE(test::contains(svg, "<b>"));
  EXPECT_FALSE(fs::exists(marker));
}

TEST(Figure, ShowsNamesThatBeginWithQuotes) {
  Chart chart{.title = "'tis", .x = {.names = {"'a'", "''b", "'"}}};
  chart.series = {{.name = "\"q\"", .y = {1, 2, 3}, .mark = Mark::Bars}};
  const auto svg = Figure{.title = "'", .panels = {chart}}.render("svg");
  for (const auto* text : {">'tis<", ">'a'<", ">''b<", ">'<"})
    EXPECT_TRUE(test::contains(svg, text));
}

TEST(Figure, TurnsControlCharactersAndBrokenUtf8IntoSomethingReadable) {
  auto figure = small_figure();
  figure.title = "one\ntwo\x01\xff three";
  const auto svg = figure.render("svg");
  EXPECT_TRUE(test::contains(svg, "one two \uFFFD three"));
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
}

TEST(Figure, LeavesAGapWhereAValueIsNotFinite) {
  const auto whole = small_figure({1, 2, 3, 4, 5, 6, 7}).render("svg");
  const auto gap = small_figure({1, 2, kNaN, kInfinity, 5, -kInfinity, 7}).render("svg");
  EXPECT_FALSE(test::contains(whole, "#gpPt6'"));
  EXPECT_TRUE(test::contains(gap, "#gpPt6'"));  // the lonely last value is a dot
}

TEST(Figure, NamesThePanelThatHasNothingToShow) {
  const auto error = [](const Figure& figure) {
    return test::error_of([&] { figure.render("png"); });
  };
  EXPECT_TRUE(
      test::contains(error(small_figure({})), "panel 'loss curve': series 'train' is empty"));
  EXPECT_TRUE(test::contains(error(small_figure({kNaN, kNaN})), "no series has a value"));
  EXPECT_TRUE(test::contains(error({.title = "f", .panels = {Chart{.title = "c"}}}), "panel 'c'"));
  EXPECT_TRUE(test::contains(error({.title = "f", .panels = {HeatMap{}}}), "panel 1"));
  EXPECT_TRUE(
      test::contains(error({.title = "f", .panels = {ImagePanel{.title = "p"}}}), "panel 'p'"));
  EXPECT_TRUE(test::contains(error({.title = "f"}), "no panels"));
}

TEST(Figure, RefusesSizesThatDoNotFit) {
  auto figure = small_figure();
  std::get<Chart>(figure.panels[0]).series[0].x = {1, 2};
  EXPECT_TRUE(test::contains(test::error_of([&] { figure.render("png"); }), "2 x for 3 y"));
  const HeatMap map{.title = "m", .values = {2, 2, {1, 2, 3}}};
  EXPECT_TRUE(test::contains(test::error_of([&] { Figure{.panels = {map}}.render("png"); }),
                             "3 values for 2 rows x 2 columns"));
  const HeatMap named{.values = {1, 2, {1, 2}}, .column_names = {"a"}};
  EXPECT_TRUE(test::contains(test::error_of([&] { Figure{.panels = {named}}.render("png"); }),
                             "1 names for 2 columns"));
}

TEST(Figure, SaysWhichFolderCannotBeWritten) {
  const auto message = test::error_of([] { small_figure().save("/no/such/folder/curves"); });
  EXPECT_TRUE(test::contains(message, "/no/such/folder/curves"));
}

TEST(Figure, SaysHowToGetGnuplotWhenItIsMissing) {
  test::TemporaryFolder empty;
  const Environment path("PATH", empty.path().string());
  const auto message = test::error_of([] { small_figure().render("png"); });
  EXPECT_TRUE(test::contains(message, "apt-get install gnuplot-nox"));
}

TEST(Figure, ReportsWhatAFailingGnuplotSaid) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "gnuplot", "#!/bin/sh\necho unknown terminal >&2\nexit 1\n");
  fs::permissions(folder / "gnuplot", fs::perms::owner_all);
  const Environment path("PATH", folder.path().string());
  const auto message = test::error_of([&] { small_figure().save(folder / "a.png"); });
  EXPECT_TRUE(test::contains(message, "unknown terminal"));
  EXPECT_FALSE(fs::exists(folder / "a.png"));
}

TEST(Figure, DrawsEveryKindOfSeries) {
  std::vector<Panel> panels;
  for (const auto mark : {Mark::Line, Mark::Points, Mark::Bars, Mark::Histogram, Mark::Box}) {
    Chart chart{.title = "kind"};
    chart.series = {{.name = "one", .y = {1, 2, 3, 4, 20}, .mark = mark},
                    {.name = "two", .y = {2, 2, 2}, .mark = mark}};
    if (mark != Mark::Histogram && mark != Mark::Box)
      chart.series[0].error = {0.1, 0.1, kNaN, 0.2, 0.2};
    panels.push_back(chart);
  }
  Chart logs{.x = {.log = true}, .y = {.log = true}, .right = {.label = "right"}};
  logs.series = {{.x = {1, 10, 100}, .y = {0, 1e-3, 1e-6}},
                 {.x = {1, 10, 100}, .y = {5, 6, 7}, .stroke = Stroke::Dotted, .right = true}};
  panels.push_back(logs);
  EXPECT_TRUE(is_png(Figure{.panels = panels}.render("png")));
  EXPECT_TRUE(test::contains(Figure{.panels = panels}.render("svg"), "right"));
}

TEST(Figure, AnnotatesTheCellsOfAHeatMap) {
  const HeatMap map{.title = "confusion",
                    .values = {2, 2, {0.25, 0.75, kNaN, 1}},
                    .row_names = {"cat", "dog"},
                    .column_names = {"cat", "dog"},
                    .annotate = true,
                    .color_label = "share"};
  const auto svg = Figure{.panels = {map}}.render("svg");
  for (const auto* text : {"0.25", "0.75", "1.00", "share", "confusion"})
    EXPECT_TRUE(test::contains(svg, text));
  EXPECT_EQ(count(svg, ">cat<"), 2u);
}

TEST(Figure, SharesOneColourBarAmongHeatMaps) {
  Figure figure{.columns = 2, .shared_colors = true, .color_label = "weight"};
  figure.row_names = {"layer 1", "layer 2"};
  figure.column_names = {"head 1", "head 2"};
  for (int i = 0; i < 4; ++i) figure.panels.push_back(HeatMap{.values = {1, 2, {0, double(i)}}});
  const auto svg = figure.render("svg");
  EXPECT_EQ(count(svg, ">weight<"), 1u);
  EXPECT_EQ(count(svg, "<image"), 5u);
  EXPECT_TRUE(test::contains(svg, "layer 2"));
  EXPECT_TRUE(test::contains(svg, "head 2"));
  figure.row_names = {"only one"};
  EXPECT_TRUE(
      test::contains(test::error_of([&] { figure.render("svg"); }), "1 captions for 2 rows"));
}

TEST(Figure, ShowsImagesWithTheirTitles) {
  const auto figure = image_grid("sheet", {gradient(8, 3), gradient(8, 1)}, {"first", "둘째"});
  const auto svg = figure.render("svg");
  EXPECT_EQ(count(svg, "<image"), 2u);
  EXPECT_TRUE(test::contains(svg, "둘째"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               image_grid("sheet", {gradient(8, 3)}, {"a", "b"});
                             }),
                             "2 titles"));
}

TEST(Figure, RefusesAnImageTooLongToDraw) {
  const auto figure = image_grid("tower", std::vector<Image>(300, gradient(4, 3)), {}, 1);
  EXPECT_TRUE(test::contains(test::error_of([&] { figure.render("png"); }), "use fewer panels"));
}

TEST(Figure, NamesItsColoursAndExplainsItselfUnderThePanels) {
  auto figure = small_figure();
  const auto before = big_endian(figure.render("png"), 20);
  figure.legend = {{{0, 114, 178}, "window"}, {{86, 180, 233}, "stride"}};
  figure.note =
      "what the colours mean, in so many words that they need more than a line of their "
      "own under a figure as small as this one";
  const auto svg = figure.render("svg");
  for (const auto* text : {">window<", ">stride<", "what the colours mean"})
    EXPECT_TRUE(test::contains(svg, text)) << text;
  EXPECT_GT(big_endian(figure.render("png"), 20), before);
}

TEST(Figure, LabelsASharedColourBarAsAsked) {
  Figure figure{.panels = {HeatMap{.values = {1, 2, {-1, 1}}}, HeatMap{.values = {1, 1, {0}}}},
                .shared_colors = true,
                .color_label = "× uniform",
                .color_ticks = {{-1, "≤ 1/2"}, {0, "1 x"}, {1, "≥ 2"}}};
  const auto svg = figure.render("svg");
  for (const auto* text : {"≤ 1/2", ">1 x<", "≥ 2", "× uniform"})
    EXPECT_TRUE(test::contains(svg, text)) << text;
}

TEST(Figure, WritesTheTextGivenIntoTheCells) {
  HeatMap map{.values = {1, 2, {0.25, 0.75}}, .annotate = true, .cell_text = {"3", "nine"}};
  const auto svg = Figure{.panels = {map}}.render("svg");
  EXPECT_TRUE(test::contains(svg, ">nine<"));
  EXPECT_FALSE(test::contains(svg, "0.75</"));
  map.cell_text = {"3"};
  EXPECT_TRUE(test::contains(test::error_of([&] { Figure{.panels = {map}}.render("svg"); }),
                             "1 cell texts for 2 cells"));
}

TEST(Figure, GrowsWithTheNamesOfAHeatMap) {
  HeatMap map{.values = {60, 60, std::vector<double>(3600, 0.5)}};
  for (int i = 0; i < 60; ++i) map.row_names.push_back(fmt::format("class-{}", i));
  map.column_names = map.row_names;
  const auto svg = Figure{.panels = {map}}.render("svg");
  for (const auto& name : map.row_names) EXPECT_EQ(count(svg, ">" + name + "<"), 2u) << name;
  for (int i = 60; i < 1000; ++i) map.row_names.push_back(fmt::format("class-{}", i));
  map.column_names = map.row_names;
  map.values = {1000, 1000, std::vector<double>(1'000'000, 0.5)};
  EXPECT_TRUE(is_png(Figure{.panels = {map}}.render("png")));  // some names are left out
}

TEST(Figure, ASingleWholePlaceHasNoNeighboursOnTheAxis) {
  Chart chart{.x = {.label = "epoch"}, .y = {.low = 0.25, .high = 0.75}};
  chart.series = {{.name = "train", .x = {7}, .y = {0.5}, .markers = true}};
  const auto svg = Figure{.panels = {chart}}.render("svg");
  EXPECT_TRUE(test::contains(svg, ">7<"));
  EXPECT_FALSE(test::contains(svg, ">6<"));
  EXPECT_FALSE(test::contains(svg, ">8<"));
}

TEST(Figure, TheLegendDoesNotCoverTheGrid) {
  auto with = small_figure({1, 2, 3, 4});
  auto without = with;
  std::get<Chart>(without.panels[0]).series[0].name = "";
  const auto areas = [](const Figure& f) { return count(f.render("svg"), "<polygon fill"); };
  EXPECT_EQ(areas(with), areas(without));
}

}  // namespace vitrine::plot
