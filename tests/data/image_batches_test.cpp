#include "vitrine/data/image_batches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/jpeg.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/pipeline.h"
#include "vitrine/data/random_crop.h"
#include "vitrine/data/registry.h"

namespace vitrine {
namespace {

DataConfig small() {
  DataConfig c;
  c.dataset = read_dataset("{name: synthetic, train: 60, test: 20, image: 16, classes: 4}");
  return c;
}

std::vector<int64_t> first(int64_t n) {
  std::vector<int64_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// (value / 255 - mean) / std of a stored image, by plain torch operations.
torch::Tensor normalized(const Image& image, const DataConfig& c) {
  const auto bytes = torch::from_blob(const_cast<uint8_t*>(image.pixels.data()),
                                      {image.height, image.width, image.channels}, torch::kUInt8);
  const auto x = bytes.permute({2, 0, 1}).to(torch::kFloat).div(255);
  const auto column = [](const std::vector<double>& v) {
    return torch::tensor(v, torch::kFloat).reshape({-1, 1, 1});
  };
  return (x - column(c.preprocess.mean)) / column(c.preprocess.std);
}

}  // namespace

TEST(Preprocess, StretchKeepsTheWholeImage) {
  Image image(30, 12);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 7);
  Preprocess how{.image = 8, .resize = 8, .stretch = true};
  const auto square = resize(image, 8, 8, how.interpolation);
  EXPECT_TRUE(preprocess(image, how).equal(preprocess(square, how)));
  how.stretch = false;
  EXPECT_FALSE(preprocess(image, how).equal(preprocess(square, how)));
  how = {.image = 8, .resize = 10, .stretch = true};
  EXPECT_TRUE(test::contains(test::error_of([&] { how.validate(); }), "resize must be image 8"));
}

TEST(ImageBatches, CountsTheTrainingImagesOfEachClass) {
  const auto c = resolved_data_config(small());
  const auto train = open_image_split(c, 0, Split::Train);
  std::vector<int64_t> expected(4);
  for (int64_t i = 0; i < train->size(); ++i) ++expected[train->label(i)];
  EXPECT_EQ(open_data(c, 0).class_counts, expected);
  EXPECT_EQ(std::accumulate(expected.begin(), expected.end(), int64_t{0}), 54);
}

TEST(ImageBatches, NormalisesImagesAsStored) {
  const auto c = resolved_data_config(small());
  const auto data = open_image_split(c, 0, Split::Test);
  const auto batch = open_data(c, 0).test->load({3, 1}, -1);
  EXPECT_EQ(batch.inputs.sizes(), (std::vector<int64_t>{2, 3, 16, 16}));
  EXPECT_TRUE(torch::equal(batch.inputs[0], normalized(data->get(3).image, c)));
  EXPECT_TRUE(torch::equal(batch.inputs[1], normalized(data->get(1).image, c)));
  EXPECT_EQ(batch.targets[0].item<int64_t>(), data->label(3));
}

TEST(ImageBatches, CropsAndFlipsAsThePlainTransformsDo) {
  auto c = resolved_data_config(small());
  c.augment.crop_padding = 3;
  c.augment.flip = 0.5;
  const auto data = open_image_split(c, 7, Split::Train);
  const auto batch = open_data(c, 7).train->load(first(40), 5);
  std::set<bool> flips;
  for (int64_t i = 0; i < 40; ++i) {
    Random random{7, 5, static_cast<uint64_t>(i)};
    const auto left = random.below(7) - 3, top = random.below(7) - 3;
    auto image = crop(data->get(i).image, left, top, 16, 16);
    const bool flipped = random.chance(0.5);
    flips.insert(flipped);
    if (flipped) image = flip_horizontally(image);
    ASSERT_TRUE(torch::equal(batch.inputs[i], normalized(image, c))) << "example " << i;
  }
  EXPECT_EQ(flips.size(), 2);
}

TEST(ImageBatches, AugmentationDependsOnSeedEpochAndIndexAlone) {
  auto c = small();
  c.augment = {.crop_padding = 2,
               .flip = 0.5,
               .rotation = 15,
               .brightness = 0.2,
               .contrast = 0.2,
               .saturation = 0.2,
               .hue = 0.1,
               .randaugment_ops = 2,
               .erasing = 0.5};
  const auto train = open_data(c, 1).train;
  const auto together = train->load({4, 9}, 2).inputs;
  EXPECT_TRUE(torch::equal(together[1], train->load({9}, 2).inputs[0]));
  EXPECT_TRUE(torch::equal(together, open_data(c, 1).train->load({4, 9}, 2).inputs));
  EXPECT_FALSE(torch::equal(together, train->load({4, 9}, 3).inputs));
  EXPECT_FALSE(torch::equal(together, train->load({4, 9}, -1).inputs));
  EXPECT_TRUE(together.isfinite().all().item<bool>());
}

TEST(ImageBatches, ErasesARectangle) {
  auto c = small();
  c.augment.erasing = 1;
  const auto train = open_data(c, 1).train;
  const auto zeros = (train->load(first(20), 0).inputs == 0).sum().item<int64_t>();
  EXPECT_GT(zeros, 20 * 3 * 256 * 0.03);
  EXPECT_LT(zeros, 20 * 3 * 256 * 0.33);
}

TEST(ImageBatches, MixedTargetsAreSharesThatSumToOne) {
  auto c = small();
  c.augment.mixup = 0.8;
  c.augment.cutmix = 1;
  const auto train = open_data(c, 1).train;
  const auto batch = train->load(first(8), 0);
  EXPECT_EQ(batch.targets.sizes(), (std::vector<int64_t>{8, 4}));
  EXPECT_TRUE(torch::allclose(batch.targets.sum(1), torch::ones(8)));
  EXPECT_TRUE(torch::equal(batch.inputs, train->load(first(8), 0).inputs));
  EXPECT_EQ(train->load(first(8), -1).targets.scalar_type(), torch::kInt64);
}

TEST(ImageBatches, ResizesToTheAskedSize) {
  auto c = small();
  c.preprocess.image = 24;
  EXPECT_EQ(open_data(c, 0).train->load({0}, 0).inputs.sizes(),
            (std::vector<int64_t>{1, 3, 24, 24}));
}

TEST(ImageBatches, EvaluationResizesAndThenCropsTheCentre) {
  auto c = small();
  c.preprocess.image = 14;
  c.preprocess.resize = 20;
  c = resolved_data_config(c);
  const auto data = open_image_split(c, 0, Split::Test);
  const auto batch = open_data(c, 0).test->load({3}, -1);
  const auto expected =
      crop(resize(data->get(3).image, 20, 20, Interpolation::Bilinear), 3, 3, 14, 14);
  EXPECT_TRUE(torch::equal(batch.inputs[0], normalized(expected, c)));
  const auto training = open_data(c, 0).train->load({3}, 0);
  EXPECT_TRUE(torch::equal(training.inputs, open_data(c, 0).train->load({3}, -1).inputs));
  c.preprocess.resize = 10;
  EXPECT_TRUE(test::contains(test::error_of([&] { c.validate(); }), "resize 10 is less than"));
}

TEST(ImageBatches, ARandomResizedCropReplacesResizeAndCropInTraining) {
  auto c = small();
  c.preprocess.image = 12;
  c.preprocess.resize = 14;
  c.augment.random_resized_crop = 0.3;
  c.augment.flip = 0.5;
  c = resolved_data_config(c);
  const auto data = open_image_split(c, 7, Split::Train);
  const auto batch = open_data(c, 7).train->load(first(20), 5);
  for (int64_t i = 0; i < 20; ++i) {
    Random random{7, 5, static_cast<uint64_t>(i)};
    const auto box = random_crop_box(16, 16, 0.3, random);
    auto image = resized_crop(data->get(i).image, box, 12, Interpolation::Bilinear);
    if (random.chance(0.5)) image = flip_horizontally(image);
    ASSERT_TRUE(torch::equal(batch.inputs[i], normalized(image, c))) << "example " << i;
  }
  EXPECT_FALSE(torch::equal(batch.inputs, open_data(c, 7).train->load(first(20), 6).inputs));
  EXPECT_EQ(open_data(c, 7).test->load({0}, -1).inputs.size(2), 12);
}

TEST(ImageBatches, LargeJpegsAreDecodedSmallerForTrainingAlone) {
  test::TemporaryFolder folder;
  Image image(128, 96);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(i * i / 700);
  const auto bytes = test::encode_jpeg(image);
  for (const char* split : {"train", "val", "test"})
    for (const char* name : {"a", "b"}) {
      make_folder(folder / split / name);
      write_file_atomically(folder / split / name / "x.jpg", bytes);
    }
  DataConfig c;
  c.dataset = read_dataset(fmt::format("{{name: folder, path: '{}'}}", folder.path().string()));
  c.preprocess.image = 20;
  c.augment.flip = 1;
  c = resolved_data_config(c);
  const auto centre = [&](const Image& decoded) {
    return resized_centre(decoded, 20, 20, c.preprocess.interpolation);
  };
  const auto data = open_data(c, 0);
  const auto whole = decode_image(bytes, "x"), quarter = decode_image(bytes, "x", 20);
  ASSERT_EQ(quarter.height, 24);
  const auto is = [&](const Batch& batch, const Image& expected) {
    return torch::equal(batch.inputs[0], normalized(expected, c));
  };
  EXPECT_TRUE(is(data.train->load({1}, 0), flip_horizontally(centre(quarter))));
  EXPECT_FALSE(is(data.train->load({1}, 0), flip_horizontally(centre(whole))));
  EXPECT_TRUE(is(data.train->load({1}, -1), centre(whole)));
  EXPECT_TRUE(is(data.test->load({0}, -1), centre(whole)));
  c.augment.flip = 0;
  EXPECT_TRUE(is(open_data(c, 0).train->load({1}, 0), centre(whole)));
}

TEST(ImageBatches, ACropThatMayBeSmallAsksForMorePixels) {
  Preprocess how{.image = 224, .resize = 256};
  EXPECT_EQ(Pipeline(how, {}).enough_to_augment(), 256);
  EXPECT_EQ(Pipeline(how, {.random_resized_crop = 0.08}).enough_to_augment(), 915);
  how = {.image = 224, .resize = 224, .stretch = true};
  EXPECT_EQ(Pipeline(how, {}).enough_to_augment(), 224);
}

TEST(RandomCropBox, HasTorchvisionsDistributionOfAreasAndProportions) {
  Random random{1};
  constexpr int kBoxes = 20000;
  constexpr int64_t kSide = 1000;
  double area = 0, log_ratio = 0, log_ratio_square = 0, left = 0, small_boxes = 0;
  for (int i = 0; i < kBoxes; ++i) {
    const auto box = random_crop_box(kSide, kSide, 0.08, random);
    ASSERT_GE(box.left, 0);
    ASSERT_GE(box.top, 0);
    ASSERT_LE(box.left + box.width, kSide);
    ASSERT_LE(box.top + box.height, kSide);
    const double share = static_cast<double>(box.width * box.height) / (kSide * kSide);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    EXPECT_GE(share, 0.079);
    EXPECT_GE(ratio, 0.745);
    EXPECT_LE(ratio, 1.345);
    area += share / kBoxes;
    small_boxes += static_cast<double>(share < 0.31) / kBoxes;
    log_ratio += std::log(ratio) / kBoxes;
    log_ratio_square += std::log(ratio) * std::log(ratio) / kBoxes;
    if (box.width < kSide) left += static_cast<double>(box.left) / (kSide - box.width) / kBoxes;
  }
  // The means of 200,000 boxes of torchvision 0.14; large boxes that do not fit are drawn again.
  EXPECT_NEAR(area, 0.4783, 0.005);
  EXPECT_NEAR(small_boxes, 0.2908, 0.01);
  EXPECT_NEAR(log_ratio, 0, 0.005);
  EXPECT_NEAR(log_ratio_square, 0.02533, 0.001);
  EXPECT_NEAR(left, 0.5, 0.01);
}

TEST(RandomCropBox, TakesTheMiddleOfVeryLongImages) {
  Random random{1};
  const auto wide = random_crop_box(3000, 2, 1, random);
  EXPECT_EQ(wide.height, 2);
  EXPECT_EQ(wide.width, 3);
  EXPECT_EQ(wide.left, (3000 - 3) / 2);
  const auto high = random_crop_box(3, 900, 1, random);
  EXPECT_EQ(high.width, 3);
  EXPECT_EQ(high.height, 4);
  const auto dot = random_crop_box(1, 1, 0.08, random);
  EXPECT_EQ(dot.width * dot.height, 1);
}

TEST(OpenData, KeepsAShareOfTrainingForValidationBySeed) {
  const auto c = small();
  const auto splits = open_data(c, 0);
  EXPECT_EQ(splits.train->size(), 54);
  EXPECT_EQ(splits.validation->size(), 6);
  EXPECT_EQ(splits.test->size(), 20);
  EXPECT_EQ(splits.classes.size(), 4);
  std::set<std::vector<uint8_t>> seen;
  for (const auto split : {Split::Train, Split::Validation}) {
    const auto data = open_image_split(c, 0, split);
    for (int64_t i = 0; i < data->size(); ++i) seen.insert(data->get(i).image.pixels);
  }
  EXPECT_EQ(seen.size(), 60);
  EXPECT_NE(open_image_split(c, 0, Split::Validation)->get(0).image.pixels,
            open_image_split(c, 1, Split::Validation)->get(0).image.pixels);
}

TEST(OpenData, LimitsTheTrainingImagesOnly) {
  auto c = small();
  c.limit = 10;
  EXPECT_EQ(open_data(c, 0).train->size(), 10);
  EXPECT_EQ(open_data(c, 0).validation->size(), 6);
}

TEST(OpenData, TakesTheSameFractionOfEveryClass) {
  auto c = small();
  const auto pixels = [&](double fraction, uint64_t seed) {
    c.fraction = fraction;
    const auto data = open_image_split(c, seed, Split::Train);
    std::set<std::vector<uint8_t>> all;
    for (int64_t i = 0; i < data->size(); ++i) all.insert(data->get(i).image.pixels);
    return all;
  };
  const auto whole = open_data(c, 0).class_counts;
  const auto half = pixels(0.5, 0), fifth = pixels(0.2, 0);
  EXPECT_EQ(half.size(), 27);
  EXPECT_EQ(fifth.size(), 11);
  EXPECT_TRUE(std::includes(half.begin(), half.end(), fifth.begin(), fifth.end()));
  EXPECT_NE(pixels(0.2, 1), fifth);
  c.fraction = 0.5;
  const auto counts = open_data(c, 0).class_counts;
  for (size_t k = 0; k < counts.size(); ++k) EXPECT_NEAR(counts[k], 0.5 * whole[k], 1);
  EXPECT_EQ(open_data(c, 0).validation->size(), 6);
  c.fraction = 0.001;
  EXPECT_TRUE(test::contains(test::error_of([&] { open_data(c, 0); }),
                             "data.fraction=0.001 of 54 images leaves none"));
}

TEST(OpenData, ValidatesOnTheTestImagesIfNoneAreKeptBack) {
  auto c = small();
  c.validation = 0;
  EXPECT_EQ(open_data(c, 0).train->size(), 60);
  EXPECT_EQ(open_data(c, 0).validation->size(), 20);
}

TEST(Preprocess, TakesTheCentreOfAnyImage) {
  Image wide(40, 20);
  for (int64_t y = 0; y < 20; ++y)
    for (int64_t x = 0; x < 40; ++x) wide.at(x, y)[0] = x < 20 ? 0 : 255;
  Preprocess how;
  how.image = 8;
  how.resize = 10;
  const auto x = preprocess(wide, how);
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{3, 8, 8}));
  EXPECT_EQ(x[0][0][0].item<float>(), -1);
  EXPECT_EQ(x[0][0][7].item<float>(), 1);
}

TEST(Preprocess, ConvertsBetweenGreyAndColour) {
  const auto grey = preprocess(Image(8, 8, 1), {.image = 4, .resize = 4});
  EXPECT_EQ(grey.sizes(), (std::vector<int64_t>{3, 4, 4}));
  const auto color = preprocess(
      Image(8, 8, 3), {.image = 4, .resize = 4, .channels = 1, .mean = {0.5}, .std = {0.5}});
  EXPECT_EQ(color.sizes(), (std::vector<int64_t>{1, 4, 4}));
}

TEST(Preprocess, SurvivesAsText) {
  const auto written = to_yaml(preprocess_of(small()).value());
  Preprocess read;
  Settings::from_text(written, "test").read_into(read);
  EXPECT_EQ(to_yaml(read), written);
}

TEST(DataConfig, SurvivesAsTextAndResolvesTheStatistics) {
  const auto c = resolved_data_config(DataConfig{});
  EXPECT_EQ(c.preprocess.mean.size(), 3);
  DataConfig read;
  Settings::from_text(to_yaml(c), "test").read_into(read);
  EXPECT_EQ(to_yaml(read), to_yaml(c));
}

TEST(DataConfig, NamesWhatIsWrong) {
  const auto error = [](auto change) {
    DataConfig c;
    return test::error_of([&] {
      change(c);
      c.validate();
    });
  };
  EXPECT_TRUE(
      test::contains(error([](auto& c) { c.dataset.choose("cifar"); }), "did you mean 'cifar10'"));
  EXPECT_TRUE(test::contains(error([](auto& c) { c.batch = 0; }), "batch 0"));
  EXPECT_TRUE(test::contains(error([](auto& c) { c.validation = 1; }), "validation 1"));
  EXPECT_TRUE(test::contains(error([](auto& c) { c.fraction = 0; }), "fraction 0 is not above 0"));
  EXPECT_TRUE(test::contains(error([](auto& c) { c.fraction = 0.5, c.limit = 3; }),
                             "limit 3 and fraction 0.5"));
  EXPECT_TRUE(test::contains(error([](auto& c) {
                               c.fraction = 0.5;
                               c.dataset.choose("waves");
                             }),
                             "instead of data.fraction"));
  EXPECT_TRUE(test::contains(error([](auto& c) { c.augment.flip = 2; }), "flip 2"));
  EXPECT_TRUE(test::contains(error([](auto& c) { c.preprocess.mean = {0.5}; }), "mean has 1"));
  EXPECT_TRUE(test::contains(error([](auto& c) { c.preprocess.mean = c.preprocess.std = {0.5}; }),
                             "3 channels"));
}

}  // namespace vitrine
