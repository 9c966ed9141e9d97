#include "vitrine/core/image_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/jpeg.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/error.h"
#include "vitrine/core/peak_memory.h"

namespace vitrine {
namespace {

const fs::path kImages = fs::path(VITRINE_SOURCE_DIR) / "tests/fixtures/images";

/// A progressive JPEG with a scan for each of the first `coefficients` of the three components.
std::string jpeg_of_many_scans(int coefficients, int side = 8) {
  std::vector<jpeg_scan_info> scans = {{3, {0, 1, 2}, 0, 0, 0, 0}};
  for (int c = 0; c < 3; ++c)
    for (int k = 1; k <= coefficients; ++k)
      scans.push_back({1, {c, 0, 0, 0}, k, k == coefficients ? 63 : k, 0, 0});
  Image image(side, side);
  std::ranges::fill(image.pixels, uint8_t{100});
  return test::encode_jpeg(image, scans);
}

/// A PNG file whose header states this size, with the data of a smaller image.
std::string png_claiming(uint32_t width, uint32_t height) {
  auto bytes = encode_png(Image(3, 3));
  const auto put = [&](size_t at, uint32_t value) {
    for (int k = 0; k < 4; ++k) bytes[at + k] = static_cast<char>(value >> (24 - 8 * k));
  };
  put(16, width);
  put(20, height);
  uint32_t crc = ~0u;
  for (const unsigned char byte : std::string_view(bytes).substr(12, 17)) {
    crc ^= byte;
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  put(29, ~crc);
  return bytes;
}

}  // namespace

TEST(ImageFiles, AJpegIsDecodedAtAFractionOfItsSizeWhereThatIsEnough) {
  Image image(64, 40);
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      auto* pixel = image.at(x, y);
      pixel[0] = static_cast<uint8_t>(4 * x);
      pixel[1] = static_cast<uint8_t>(6 * y);
      pixel[2] = 128;
    }
  const auto bytes = test::encode_jpeg(image);
  const auto sides = [&](std::optional<int64_t> enough) {
    const auto decoded = decode_image(bytes, "x.jpg", enough);
    return std::pair(decoded.width, decoded.height);
  };
  EXPECT_EQ(sides({}), std::pair(int64_t{64}, int64_t{40}));
  EXPECT_EQ(sides(41), std::pair(int64_t{64}, int64_t{40}));
  EXPECT_EQ(sides(21), std::pair(int64_t{64}, int64_t{40}));
  EXPECT_EQ(sides(20), std::pair(int64_t{32}, int64_t{20}));
  EXPECT_EQ(sides(10), std::pair(int64_t{16}, int64_t{10}));
  EXPECT_EQ(sides(1), std::pair(int64_t{8}, int64_t{5}));
  const auto half = decode_image(bytes, "x.jpg", 20);
  for (int64_t y = 1; y < half.height - 1; ++y)
    for (int64_t x = 1; x < half.width - 1; ++x) {
      EXPECT_NEAR(half.at(x, y)[0], 8 * x + 2, 6);
      EXPECT_NEAR(half.at(x, y)[1], 12 * y + 3, 6);
    }
}

TEST(ImageFiles, AJpegHasAtMostAHundredScans) {
  EXPECT_EQ(decode_image(jpeg_of_many_scans(30), "few.jpg").width, 8);
  EXPECT_TRUE(
      test::contains(test::error_of([] { decode_image(jpeg_of_many_scans(40), "many.jpg"); }),
                     "many.jpg: not a readable JPEG file: more than 100 scans"));
}

TEST(ImageFiles, ALargerJpegHasFewerScans) {
  EXPECT_EQ(decode_image(jpeg_of_many_scans(8, 3000), "few.jpg").width, 3000);
  EXPECT_TRUE(
      test::contains(test::error_of([] { decode_image(jpeg_of_many_scans(20, 3000), "many.jpg"); }),
                     "many.jpg: not a readable JPEG file: more than 44 scans"));
}

class EveryKindOfFile : public testing::TestWithParam<const char*> {};

TEST_P(EveryKindOfFile, DecodesAsPillowDoes) {
  const std::string name = GetParam();
  const auto image = read_image(kImages / name);
  const auto expected = read_image(kImages / (name + ".expected.png"));
  ASSERT_EQ(image.width, 17);
  ASSERT_EQ(image.height, 12);
  ASSERT_EQ(image.channels, 3);
  const int tolerance = name == "cmyk.jpg" || name.starts_with("alpha") ? 1 : 0;
  for (size_t i = 0; i < image.pixels.size(); ++i)
    ASSERT_NEAR(image.pixels[i], expected.pixels[i], tolerance) << "byte " << i;
}

TEST_P(EveryKindOfFile, RefusesToReadAFileThatWasCutShort) {
  const std::string name = GetParam();
  const auto bytes = read_file(kImages / name);
  for (const size_t kept : {bytes.size() / 4, bytes.size() / 2, bytes.size() * 4 / 5})
    EXPECT_TRUE(test::contains(
        test::error_of([&] { decode_image(std::string_view(bytes).substr(0, kept), name); }), name))
        << kept << " of " << bytes.size();
}

TEST_P(EveryKindOfFile, SurvivesAnyWrongByte) {
  const auto bytes = read_file(kImages / GetParam());
  for (size_t i = 0; i < bytes.size(); i += 7) {
    auto damaged = bytes;
    damaged[i] = static_cast<char>(~damaged[i]);
    try {
      decode_image(damaged, "damaged");
    } catch (const Error&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Images, EveryKindOfFile,
                         testing::Values("rgb.jpg", "grey.jpg", "cmyk.jpg", "rgb.png", "grey.png",
                                         "palette.png", "bit.png", "alpha.png", "sixteen.png",
                                         "rgb.webp", "alpha.webp"));

TEST(ImageFiles, RefusesATextFileNamedPng) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "note.png", "this is text");
  const auto message = test::error_of([&] { read_image(folder / "note.png"); });
  EXPECT_TRUE(test::contains(message, "note.png"));
  EXPECT_TRUE(test::contains(message, "not a JPEG, PNG or WebP"));
}

TEST(ImageFiles, RefusesAnEmptyFile) {
  test::TemporaryFolder folder;
  write_file_atomically(folder / "a.jpg", "");
  EXPECT_TRUE(
      test::contains(test::error_of([&] { read_image(folder / "a.jpg"); }), "the file is empty"));
}

TEST(ImageFiles, RefusesAnAbsurdSize) {
  const auto message = test::error_of([] { decode_image(png_claiming(60000, 60000), "bomb"); });
  EXPECT_TRUE(test::contains(message, "60000 x 60000 pixels is not accepted"));
}

TEST(ImageFiles, RefusesALargeImageInAFewBytesBeforeItTakesMemory) {
  const auto bytes = png_claiming(8000, 8000);
  const PeakMemory memory;
  const auto message = test::error_of([&] { decode_image(bytes, "small.png"); });
  EXPECT_LT(memory.bytes().value_or(0), 64 << 20);
  EXPECT_TRUE(test::contains(message, "8000 x 8000 pixels in"));
}

TEST(ImageFiles, WritesPngThatReadsBackTheSame) {
  test::TemporaryFolder folder;
  Image image(5, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 17);
  write_png(folder / "a.png", image);
  EXPECT_EQ(read_image(folder / "a.png").pixels, image.pixels);
  EXPECT_TRUE(test::contains(test::error_of([] { encode_png(Image(2, 2, 2)); }), "2 channels"));
}

}  // namespace vitrine
