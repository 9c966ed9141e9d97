#include <gtest/gtest.h>

#include "vitrine/core/image_files.h"

namespace vitrine {

TEST(ImageSize, IsWhatTheDecoderFinds) {
  const auto folder = fs::path(VITRINE_SOURCE_DIR) / "tests/fixtures/images";
  for (const auto* name :
       {"rgb.jpg", "grey.jpg", "cmyk.jpg", "rgb.png", "alpha.png", "rgb.webp", "alpha.webp"}) {
    const auto bytes = read_file(folder / name);
    const auto size = stated_image_size(bytes);
    const auto image = decode_image(bytes, name);
    ASSERT_TRUE(size) << name;
    EXPECT_EQ(size->width, image.width) << name;
    EXPECT_EQ(size->height, image.height) << name;
  }
}

TEST(ImageSize, IsNothingWhereAFileIsCutOrNoImage) {
  const auto folder = fs::path(VITRINE_SOURCE_DIR) / "tests/fixtures/images";
  for (const auto* name : {"rgb.jpg", "rgb.png", "rgb.webp"}) {
    const auto bytes = read_file(folder / name);
    for (size_t length = 0; length < 24; ++length)
      EXPECT_FALSE(stated_image_size(bytes.substr(0, length))) << name << length;
    for (size_t length = 24; length < bytes.size(); length += 7)
      stated_image_size(bytes.substr(0, length));  // must not read beyond
  }
  EXPECT_FALSE(stated_image_size("no image"));
}

}  // namespace vitrine
