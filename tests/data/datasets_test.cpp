#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/random.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/image_splits.h"
#include "vitrine/data/registry.h"

namespace vitrine {
namespace {

DataConfig config(const std::string& dataset) {
  DataConfig c;
  c.dataset.choose(dataset);
  return c;
}

std::unique_ptr<Dataset> open(const DataConfig& c, Split split) {
  return c.dataset->open(c, split);
}

DataConfig folder_config(const fs::path& path) {
  DataConfig c;
  c.dataset = read_dataset("name: folder", {"path=" + path.string()});
  return c;
}

void paint(const fs::path& path, uint8_t value, int64_t width = 6) {
  make_folder(path.parent_path());
  Image image(width, 5);
  std::fill(image.pixels.begin(), image.pixels.end(), value);
  write_png(path, image);
}

}  // namespace

TEST(Datasets, AnUnknownNameListsTheKnownOnes) {
  const auto message = test::error_of([] { datasets().get("cifar-10"); });
  EXPECT_TRUE(test::contains(message, "did you mean 'cifar10'"));
  EXPECT_TRUE(test::contains(message, "fashion_mnist"));
}

TEST(Synthetic, IsTheSameEveryTimeAndDiffersBetweenParts) {
  const auto c = config("synthetic");
  const auto a = open(c, Split::Train), b = open(c, Split::Train), other = open(c, Split::Test);
  EXPECT_EQ(a->size(), 512);
  EXPECT_EQ(other->size(), 128);
  EXPECT_EQ(open(c, Split::Validation), nullptr);
  EXPECT_EQ(a->get(17).image.pixels, b->get(17).image.pixels);
  EXPECT_NE(a->get(17).image.pixels, other->get(17).image.pixels);
}

TEST(Synthetic, ClassesCanBeToldApartByTheNearestMean) {
  DataConfig c;
  c.dataset = read_dataset("{name: synthetic, image: 8}");
  const auto train = open(c, Split::Train), test = open(c, Split::Test);
  std::vector<std::array<double, 3>> means(10);
  const auto color = [](const Image& image) {
    std::array<double, 3> sum = {};
    for (size_t i = 0; i < image.pixels.size(); ++i) sum[i % 3] += image.pixels[i];
    return sum;
  };
  for (int64_t i = 0; i < train->size(); ++i)
    for (int k = 0; k < 3; ++k) means[train->label(i)][k] += color(train->get(i).image)[k] / 51.2;
  int right = 0;
  for (int64_t i = 0; i < test->size(); ++i) {
    const auto seen = color(test->get(i).image);
    const auto distance = [&](int64_t label) {
      double sum = 0;
      for (int k = 0; k < 3; ++k) sum += std::pow(seen[k] - means[label][k], 2);
      return sum;
    };
    int64_t best = 0;
    for (int64_t label = 1; label < 10; ++label)
      if (distance(label) < distance(best)) best = label;
    right += best == test->label(i);
  }
  EXPECT_GT(right, 128 / 2);  // colour alone; chance is a tenth
}

TEST(FashionMnist, ReadsDebiansFiles) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "package not installed";
  const auto test = open(config("fashion_mnist"), Split::Test);
  EXPECT_EQ(test->size(), 10000);
  const auto example = test->get(0);
  EXPECT_EQ(example.image.channels, 1);
  EXPECT_EQ(example.image.width, 28);
  EXPECT_EQ(test->classes()[example.label], "ankle boot");
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i)
    for (const auto value : test->get(i).image.pixels) sum += value;
  EXPECT_NEAR(sum / 255 / 1000 / 784, 0.286, 0.01);
}

TEST(FashionMnist, SaysWhatToInstallIfFilesAreMissingOrCutShort) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "package not installed";
  test::TemporaryFolder folder;
  auto c = config("fashion_mnist");
  c.root = folder.path();
  make_folder(folder / "fashion_mnist");
  auto message = test::error_of([&] { open(c, Split::Test); });
  EXPECT_TRUE(test::contains(message, "is missing"));
  EXPECT_TRUE(test::contains(message, "dataset-fashion-mnist"));
  const std::string name = "t10k-labels-idx1-ubyte.gz";
  const auto bytes = read_file(fs::path("/usr/share/datasets/fashion-mnist") / name);
  write_file_atomically(folder / "fashion_mnist" / name, bytes.substr(0, bytes.size() / 2));
  message = test::error_of([&] { open(c, Split::Test); });
  EXPECT_TRUE(test::contains(message, name));
  EXPECT_TRUE(test::contains(message, "dataset-fashion-mnist"));
}

TEST(ImageFolder, ReadsOneFolderPerClassInSortedOrder) {
  test::TemporaryFolder folder;
  paint(folder / "dog/b.png", 3);
  paint(folder / "dog/a.PNG", 2);
  paint(folder / "cat/z.png", 1, /*width=*/9);
  write_file_atomically(folder / "dog/readme.txt", "not an image");
  auto c = folder_config(folder.path());
  const auto data = open(c, Split::Train);
  EXPECT_EQ(data->classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(data->get(0).image.width, 9);
  EXPECT_EQ(data->get(1).image.pixels[0], 2);
  EXPECT_EQ(data->get(2).image.pixels[0], 3);
  EXPECT_EQ(data->label(2), 1);
  EXPECT_EQ(open(c, Split::Test), nullptr);
}

TEST(ImageFolder, KnowsTrainValAndTest) {
  test::TemporaryFolder folder;
  for (const char* part : {"train", "val", "test"})
    for (const char* name : {"cat", "dog"}) paint(folder.path() / part / name / "a.png", part[1]);
  auto c = folder_config(folder.path());
  EXPECT_EQ(open(c, Split::Train)->get(1).image.pixels[0], 'r');
  EXPECT_EQ(open(c, Split::Validation)->get(1).image.pixels[0], 'a');
  EXPECT_EQ(open(c, Split::Test)->get(1).image.pixels[0], 'e');
  paint(folder / "test/emu/a.png", 1);
  EXPECT_TRUE(test::contains(test::error_of([&] { open(c, Split::Test); }), "class 'emu'"));
}

TEST(ImageFolder, RefusesAnEmptyClassFolder) {
  test::TemporaryFolder folder;
  paint(folder / "cat/a.png", 1);
  make_folder(folder / "dog");
  auto c = folder_config(folder.path());
  const auto message = test::error_of([&] { open(c, Split::Train); });
  EXPECT_TRUE(test::contains(message, "dog holds no .jpg, .png or .webp files"));
}

TEST(ImageFolder, RefusesToKeepBackMoreThanThereIs) {
  test::TemporaryFolder folder;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    paint(folder / ("cat/" + std::string(name) + ".png"), 1);
    paint(folder / ("dog/" + std::string(name) + ".png"), 2);
  }
  auto c = folder_config(folder.path());
  c.preprocess.image = 8;
  c.validation = 0.6;  // for validation and for test: more than all
  EXPECT_TRUE(
      test::contains(test::error_of([&] { open_image_splits(c, 1); }), "leaves none to train on"));
  c.validation = 0.3;
  EXPECT_EQ(open_image_splits(c, 1).train->size(), 4);
}

TEST(ImageFolder, EveryClassKeepsItsShareInEachPart) {
  test::TemporaryFolder folder;
  const auto fill = [&](const std::string& name, int count) {
    for (int i = 0; i < count; ++i) paint(folder / fmt::format("{}/{}.png", name, i), 1);
  };
  fill("ant", 10);
  fill("bee", 40);
  fill("cat", 100);
  fill("dog", 2);
  const auto c = folder_config(folder.path());
  const auto counts = [](const Dataset& part) {
    std::vector<int64_t> counts(4);
    for (int64_t i = 0; i < part.size(); ++i) ++counts[part.label(i)];
    return counts;
  };
  for (uint64_t seed = 0; seed < 5; ++seed) {
    testing::internal::CaptureStderr();
    const auto splits = open_image_splits(c, seed);
    const auto notes = testing::internal::GetCapturedStderr();
    EXPECT_EQ(counts(*splits.validation), (std::vector<int64_t>{1, 4, 10, 0}));
    EXPECT_EQ(counts(*splits.test), (std::vector<int64_t>{1, 4, 10, 0}));
    EXPECT_EQ(counts(*splits.train), (std::vector<int64_t>{8, 32, 80, 2}));
    EXPECT_TRUE(test::contains(notes, "note: too few images to keep one for validation: dog"));
    EXPECT_TRUE(test::contains(notes, "note: too few images to keep one for test: dog"));
  }
}

TEST(ImageFolder, WhatOnePartLostByRoundingTheOtherGets) {
  test::TemporaryFolder folder;
  for (const char* name : {"a", "b", "c", "d"})
    for (int i = 0; i < 5; ++i) paint(folder / fmt::format("{}/{}.png", name, i), 1);
  const auto splits =
      open_image_splits(folder_config(folder.path()), 1);  // half an image of each class
  ASSERT_EQ(splits.validation->size(), 2);
  ASSERT_EQ(splits.test->size(), 2);
  std::set<int64_t> labels;
  for (const auto* part : {&splits.validation, &splits.test})
    for (int64_t i = 0; i < 2; ++i) labels.insert((*part)->label(i));
  EXPECT_EQ(labels.size(), 4);
}

TEST(ImageFolder, SaysThatAShareOfTooFewImagesIsNone) {
  test::TemporaryFolder folder;
  paint(folder / "cat/a.png", 1);
  paint(folder / "dog/a.png", 2);
  auto c = folder_config(folder.path());
  EXPECT_TRUE(test::contains(test::error_of([&] { open_image_splits(c, 1); }),
                             "data.validation=0.1 of 2 images is 0 images"));
  c.validation = 0;
  EXPECT_TRUE(test::contains(test::error_of([&] { open_image_splits(c, 1); }),
                             "have 10 images or more with data.validation=0.1"));
}

TEST(ImageSplits, TheCutOfABalancedSetIsTheSeedsPermutation) {
  DataConfig c;
  c.dataset = read_dataset("{name: synthetic, train: 50, image: 4}");
  const auto whole = open(c, Split::Train);
  const auto order = permutation(50, Random{7, 0x73706c6974});
  const auto splits = open_image_splits(c, 7);
  ASSERT_EQ(splits.validation->size(), 5);
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(splits.validation->get(i).image.pixels, whole->get(order[i]).image.pixels);
  for (int64_t i = 0; i < 45; ++i)
    EXPECT_EQ(splits.train->get(i).image.pixels, whole->get(order[5 + i]).image.pixels);
}

TEST(ImageFolder, RefusesAClassNameThatIsNotUtf8) {
  test::TemporaryFolder folder;
  paint(folder / "cat/a.png", 1);
  paint(folder / "\xff\xfe/a.png", 1);
  auto c = folder_config(folder.path());
  EXPECT_TRUE(test::contains(test::error_of([&] { open(c, Split::Train); }), "UTF-8"));
}

TEST(ImageFolder, NamesATextFileNamedPng) {
  test::TemporaryFolder folder;
  paint(folder / "cat/a.png", 1);
  make_folder(folder / "dog");
  write_file_atomically(folder / "dog/fake.png", "text");
  auto c = folder_config(folder.path());
  const auto data = open(c, Split::Train);
  EXPECT_TRUE(test::contains(test::error_of([&] { data->get(1); }), "dog/fake.png: not a JPEG"));
}

TEST(ImageFolder, AsksForTheFolderAndForASize) {
  auto c = config("folder");
  EXPECT_TRUE(
      test::contains(test::error_of([&] { open(c, Split::Train); }), "set data.dataset.path"));
  EXPECT_TRUE(
      test::contains(test::error_of([&] { preprocess_of(c); }), "set data.preprocess.image"));
  c = folder_config("/no/such");
  EXPECT_TRUE(test::contains(test::error_of([&] { open(c, Split::Train); }), "/no/such"));
}

TEST(DataRoot, ComesFromTheConfigThenTheEnvironment) {
  const char* before = std::getenv("VITRINE_DATA");
  const std::string saved = before ? before : "";
  DataConfig c;
  setenv("VITRINE_DATA", "/from/environment", 1);
  EXPECT_EQ(data_root(c), "/from/environment");
  c.root = "mine";
  EXPECT_EQ(data_root(c), "mine");
  c.root = "";
  unsetenv("VITRINE_DATA");
  EXPECT_EQ(data_root(c), "data");
  if (before) setenv("VITRINE_DATA", saved.c_str(), 1);
}

TEST(Checksum, IsMd5) {
  EXPECT_EQ(md5("The quick brown fox jumps over the lazy dog"), "9e107d9d372bb6826bd81d3542a419d6");
}

}  // namespace vitrine
