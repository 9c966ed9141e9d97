#include "vitrine/data/color.h"
#include "vitrine/data/geometry.h"
#include "vitrine/data/resize.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "tests/support/errors.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/peak_memory.h"
#include "vitrine/data/normalize.h"
#include "vitrine/data/rand_augment.h"

namespace vitrine {
namespace {

const fs::path kFixtures = fs::path(VITRINE_SOURCE_DIR) / "tests/fixtures/transforms";

Image fixture(const std::string& name) {
  const auto image = read_image(kFixtures / (name + ".png"));
  return name.starts_with("grey") ? with_channels(image, 1) : image;
}

template <typename T>
T next(std::istream& in) {
  T value;
  in >> value;
  return value;
}

Interpolation next_mode(std::istream& in) {
  const auto name = next<std::string>(in);
  if (name == "nearest") return Interpolation::Nearest;
  return name == "bilinear" ? Interpolation::Bilinear : Interpolation::Bicubic;
}

using Operation = std::function<Image(const Image&, std::istream& parameters)>;

/// An operation with one number.
Operation with_number(Image (*f)(const Image&, double)) {
  return [f](const Image& image, std::istream& in) { return f(image, next<double>(in)); };
}

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> table = {
      {"resize",
       [](const Image& image, std::istream& in) {
         const auto width = next<int64_t>(in), height = next<int64_t>(in);
         return resize(image, width, height, next_mode(in));
       }},
      {"resize_short_side",
       [](const Image& image, std::istream& in) {
         const auto size = next<int64_t>(in);
         return resize_short_side(image, size, next_mode(in));
       }},
      {"centre_crop",
       [](const Image& image, std::istream& in) { return centre_crop(image, next<int64_t>(in)); }},
      {"crop",
       [](const Image& image, std::istream& in) {
         const auto left = next<int64_t>(in), top = next<int64_t>(in);
         const auto width = next<int64_t>(in), height = next<int64_t>(in);
         return crop(image, left, top, width, height);
       }},
      {"resized_crop",
       [](const Image& image, std::istream& in) {
         const auto left = next<int64_t>(in), top = next<int64_t>(in);
         const auto width = next<int64_t>(in), height = next<int64_t>(in), size = next<int64_t>(in);
         return resized_crop(image, {left, top, width, height}, size, next_mode(in));
       }},
      {"flip_horizontally",
       [](const Image& image, std::istream&) { return flip_horizontally(image); }},
      {"rotate",
       [](const Image& image, std::istream& in) {
         const auto degrees = next<double>(in);
         return rotate(image, degrees, next_mode(in));
       }},
      {"adjust_brightness", with_number(adjust_brightness)},
      {"adjust_contrast", with_number(adjust_contrast)},
      {"adjust_saturation", with_number(adjust_saturation)},
      {"adjust_sharpness", with_number(adjust_sharpness)},
      {"adjust_hue", with_number(adjust_hue)},
      {"posterize",
       [](const Image& image, std::istream& in) { return posterize(image, next<int64_t>(in)); }},
      {"solarize", with_number(solarize)},
      {"autocontrast", [](const Image& image, std::istream&) { return autocontrast(image); }},
      {"equalize", [](const Image& image, std::istream&) { return equalize(image); }},
      {"randaugment",
       [](const Image& image, std::istream& in) {
         const auto name = next<std::string>(in);
         const auto magnitude = next<int64_t>(in), sign = next<int64_t>(in);
         const auto amount = rand_augment_amount(name, magnitude, image.width, image.height);
         return rand_augment_apply(image, name, static_cast<double>(sign) * amount);
       }},
  };
  return table;
}

}  // namespace

TEST(Transforms, EqualTorchvisionByteForByte) {
  std::ifstream lines(kFixtures / "cases.txt");
  std::map<std::string, Image> inputs, sheets;
  std::map<std::string, int> cases;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    const auto name = next<std::string>(in);
    const auto y = next<int64_t>(in), width = next<int64_t>(in), height = next<int64_t>(in);
    if (!inputs.contains(name)) {
      inputs[name] = fixture(name);
      sheets[name] = fixture(name + "_expected");
    }
    const auto operation = next<std::string>(in);
    const auto expected = crop(sheets[name], 0, y, width, height);
    const auto actual = operations().at(operation)(inputs[name], in);
    ++cases[operation];
    ASSERT_EQ(actual.width, width) << line;
    ASSERT_EQ(actual.height, height) << line;
    int64_t different = 0;
    for (size_t i = 0; i < actual.pixels.size(); ++i)
      different += actual.pixels[i] != expected.pixels[i];
    EXPECT_EQ(different, 0) << line;
  }
  EXPECT_EQ(cases.size(), operations().size());
}

TEST(Transforms, TheLibraryKnowsTorchvisionsFourteenOperations) {
  EXPECT_EQ(rand_augment_operations().size(), 14);
}

TEST(Transforms, RandAugmentIsDecidedByItsRandomNumbers) {
  const auto image = fixture("noise");
  Random a{1}, b{1}, c{4};
  const auto first = rand_augment(image, 3, 15, a).pixels;
  EXPECT_EQ(first, rand_augment(image, 3, 15, b).pixels);
  EXPECT_NE(first, rand_augment(image, 3, 15, c).pixels);
}

TEST(Normalizer, ShiftsFlipsAndPadsLikeCropAndFlip) {
  const auto image = fixture("noise");
  const Normalizer normalize({0.5, 0.4, 0.3}, {0.1, 0.2, 0.3});
  for (const bool flipped : {false, true})
    for (const auto& [left, top] : {std::pair{-3, 2}, {4, -5}, {20, 0}, {0, 0}}) {
      auto plain = crop(image, left, top, 17, 17);
      if (flipped) plain = flip_horizontally(plain);
      std::vector<float> expected(size_t{3} * 17 * 17), actual(expected.size(), -99);
      normalize(plain, {.size = 17}, expected.data());
      normalize(image, {left, top, 17, flipped}, actual.data());
      EXPECT_EQ(actual, expected) << left << ' ' << top << ' ' << flipped;
      EXPECT_EQ(expected[17 * 17 + 5], (plain.at(5, 0)[1] / 255.0f - 0.4f) / 0.2f);
    }
}

TEST(Erase, ClearsTheRectangleInEveryChannel) {
  std::vector<float> image(size_t{2} * 4 * 5, 1);
  erase_normalized(image.data(), 2, 4, 5, {.left = 1, .top = 2, .width = 3, .height = 2});
  float sum = 0;
  for (const float v : image) sum += v;
  EXPECT_EQ(sum, 2 * (20 - 6));
  EXPECT_EQ(image[2 * 5 + 1], 0);
  EXPECT_EQ(image[2 * 5 + 4], 1);
  EXPECT_EQ(image[20 + 3 * 5 + 3], 0);
}

TEST(Transforms, TheResizedCentreIsTheCentreOfTheResizedImage) {
  for (const char* name : {"smooth", "noise", "dull", "grey"})
    for (const auto mode :
         {Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic})
      for (const auto& [side, size] :
           {std::pair{30, 24}, {30, 30}, {11, 8}, {16, 16}, {17, 9}, {21, 20}, {50, 1}}) {
        const auto image = fixture(name);
        EXPECT_EQ(resized_centre(image, side, size, mode).pixels,
                  centre_crop(resize_short_side(image, side, mode), size).pixels)
            << name << ' ' << side << ' ' << size << ' ' << static_cast<int>(mode);
      }
}

TEST(Transforms, TheCentreOfAVeryLongImageTakesLittleMemory) {
  for (const auto& [width, height] : {std::pair{65535, 1}, {1, 65535}}) {
    const PeakMemory memory;
    const auto centre = resized_centre(Image(width, height), 224, 224, Interpolation::Bicubic);
    EXPECT_EQ(centre.width, 224);
    EXPECT_LT(memory.bytes().value_or(0), 100'000'000);  // all of it would be 10 GB
  }
}

TEST(Transforms, RefuseWhatTheyCannotDo) {
  const auto image = fixture("noise");
  EXPECT_TRUE(test::contains(test::error_of([&] { rotate(image, 10, Interpolation::Bicubic); }),
                             "bilinear"));
  EXPECT_TRUE(test::contains(test::error_of([&] { adjust_hue(image, 0.6); }), "0.6"));
  EXPECT_TRUE(test::contains(test::error_of([&] { resize(image, 0, 5, Interpolation::Bilinear); }),
                             "0 x 5"));
}

}  // namespace vitrine
