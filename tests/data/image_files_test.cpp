#include "vitrine/core/image_files.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/error.h"

namespace vitrine {
namespace {

const fs::path kImages = fs::path(VITRINE_SOURCE_DIR) / "tests/fixtures/images";

}  // namespace

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
  // A well-formed PNG header of 60000 x 60000 pixels; nothing of that size may be allocated.
  auto bytes = encode_png(Image(3, 3));
  for (const size_t at : {16, 20}) bytes.replace(at, 4, std::string("\0\0\xEA\x60", 4));
  const std::string_view header(bytes.data() + 12, 17);
  uint32_t crc = ~0u;
  for (const unsigned char byte : header) {
    crc ^= byte;
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  crc = ~crc;
  for (int k = 0; k < 4; ++k) bytes[29 + k] = static_cast<char>(crc >> (24 - 8 * k));
  EXPECT_TRUE(test::contains(test::error_of([&] { decode_image(bytes, "bomb"); }),
                             "60000 x 60000 pixels is not accepted"));
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
