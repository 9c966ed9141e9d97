#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/cli/run.h"
#include "vitrine/core/image_files.h"

namespace vitrine {
namespace {

struct Ran {
  int code;
  std::string out, err;
};

Ran run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = cli::run(arguments, {out, err});
  return {code, out.str(), err.str()};
}

}  // namespace

TEST(DataCommand, ListsEveryDataSet) {
  const auto ran = run({"data", "list"});
  EXPECT_EQ(ran.code, 0);
  for (const char* name : {"cifar10", "cifar100", "mnist", "fashion_mnist", "folder", "synthetic",
                           "waves", "sentences"})
    EXPECT_TRUE(test::contains(ran.out, name));
  const auto first = run({"data", "list", "--json"}).out;
  EXPECT_EQ(nlohmann::json::parse(first.substr(0, first.find('\n')))["name"], "cifar10");
}

TEST(DataCommand, DescribesSplitsAndStatistics) {
  const auto ran =
      run({"data", "info", "synthetic", "--json", "train=100", "classes=4", "validation=0.2"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto info = nlohmann::json::parse(ran.out);
  EXPECT_EQ(info["splits"]["train"]["images"], 80);
  EXPECT_EQ(info["splits"]["validation"]["images"], 20);
  EXPECT_EQ(info["splits"]["test"]["per_class"], (std::vector<int>{32, 32, 32, 32}));
  EXPECT_EQ(info["width"], (std::vector<int>{32, 32}));
  EXPECT_NEAR(info["mean"][0].get<double>(), 0.43, 0.15);
  EXPECT_TRUE(test::contains(run({"data", "info", "synthetic"}).out, "stripes 9"));
}

TEST(DataCommand, ShowsImagesOfAnySizeOnOneSheet) {
  test::TemporaryFolder folder;
  for (const char* name : {"cat", "dog"}) {
    make_folder(folder.path() / "in" / name);
    write_png(folder.path() / "in" / name / "large.png", Image(500, 300));
    for (int i = 0; i < 10; ++i)
      write_png(folder.path() / "in" / name / fmt::format("{}.png", i), Image(20, 30 + i));
  }
  const auto sheet = folder / "sheet.png";
  const auto ran = run({"data", "show", "folder", "path=" + (folder / "in").string(), "-n", "6",
                        "--out", sheet.string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(read_image(sheet).width, 200);
}

TEST(DataCommand, CountsTheFilesThatItSkips) {
  test::TemporaryFolder folder;
  for (const char* name : {"cat", "dog"}) {
    make_folder(folder / name);
    for (int i = 0; i < 10; ++i) write_png(folder / fmt::format("{}/{}.png", name, i), Image(8, 8));
  }
  const auto path = "path=" + folder.path().string();
  EXPECT_FALSE(test::contains(run({"data", "info", "folder", path}).out, "skipped"));
  for (const char* name : {"cat/a.GIF", "cat/b.gif", "dog/notes.txt", "dog/.hidden"})
    write_file_atomically(folder / name, "x");
  make_folder(folder / "dog/more");
  EXPECT_TRUE(test::contains(
      run({"data", "info", "folder", path}).out,
      "skipped   4 files that are not JPEG, PNG or WebP: 2 .gif, 1 .txt, 1 folder\n"));
  const auto json = nlohmann::json::parse(run({"data", "info", "folder", path, "--json"}).out);
  EXPECT_EQ(json["skipped_files"][".gif"], 2);
}

TEST(DataCommand, SaysWhatFractionOfFewImagesIsAndWhatWouldDo) {
  test::TemporaryFolder folder;
  const auto path = "path=" + folder.path().string();
  for (const char* name : {"cat", "dog"}) {
    make_folder(folder / name);
    write_png(folder / fmt::format("{}/1.png", name), Image(8, 8));
  }
  const auto two = run({"data", "info", "folder", path});
  EXPECT_EQ(two.code, 1);
  EXPECT_TRUE(test::contains(
      two.err,
      "a fraction data.validation=0.1 of 2 images is 0 images for each of 2 splits, but 'folder' "
      "has no validation or test images of its own; have 10 images or more"));
  write_png(folder / "cat/2.png", Image(8, 8));
  const auto three = run({"data", "info", "folder", path});
  EXPECT_TRUE(test::contains(three.err, "; set data.validation=0.34 or have 10 images or more"));
  EXPECT_EQ(run({"data", "info", "folder", path, "validation=0.34"}).code, 0);
  for (int i = 3; i < 10; ++i) write_png(folder / fmt::format("cat/{}.png", i), Image(8, 8));
  EXPECT_EQ(run({"data", "info", "folder", path}).code, 0);
}

TEST(DataCommand, FailsWithTheRemedy) {
  test::TemporaryFolder folder;
  const auto missing = run({"data", "show", "cifar10", "--root", folder.path().string()});
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(test::contains(missing.err, "vitrine data fetch cifar10"));
  EXPECT_EQ(run({"data", "info", "cifar11"}).code, 2);
  EXPECT_EQ(run({"data"}).code, 2);
  EXPECT_EQ(run({"data", "info"}).code, 2);
  EXPECT_TRUE(test::contains(run({"data", "info", "synthetic", "validaton=1"}).err, "validation"));
  for (const std::string prefix : {"data.", "data.dataset.", "dataset.", "synthetic."})
    EXPECT_TRUE(test::contains(run({"data", "info", "synthetic", prefix + "train=9"}).err,
                               "write train=9 here, not " + prefix + "train=9"));
  EXPECT_TRUE(
      test::contains(run({"data", "info", "folder", "folder=x"}).err, "known here: path, valid"));
  EXPECT_TRUE(
      test::contains(run({"data", "show", "synthetic", "--split", "dev"}).err, "split 'dev'"));
}

TEST(DataCommand, FetchingWhatIsThereDoesNothing) {
  const auto ran = run({"data", "fetch", "synthetic"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(test::contains(ran.out, "nothing to fetch"));
}

}  // namespace vitrine
