#include "vitrine/plot/colors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace vitrine::plot {

TEST(Colors, SeriesColorsDiffer) {
  std::set<std::string> seen;
  for (int64_t i = 0; i < kSeriesColors; ++i) seen.insert(series_color(i).hex());
  EXPECT_EQ(seen.size(), static_cast<size_t>(kSeriesColors));
  EXPECT_EQ(series_color(0).hex(), "#0072B2");
}

TEST(Colors, MapsRunFromEndToEnd) {
  EXPECT_EQ(color_at(ColorMap::Viridis, 0).hex(), "#440154");
  EXPECT_EQ(color_at(ColorMap::Viridis, 1).hex(), "#FDE725");
  EXPECT_EQ(color_at(ColorMap::BlueRed, 0.5).hex(), "#F7F7F7");
  EXPECT_EQ(color_at(ColorMap::Grey, 2).hex(), "#FFFFFF");
  EXPECT_EQ(color_at(ColorMap::Grey, std::nan("")).hex(), "#D9D9D9");
}

TEST(Colors, ADivergingRangeIsSymmetric) {
  const Matrix m{1, 3, {-1, std::nan(""), 3}};
  const auto range = color_range({&m}, ColorMap::BlueRed, {}, {});
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 3);
}

TEST(Colors, AConstantMatrixHasARange) {
  const Matrix m{1, 2, {5, 5}};
  const auto range = color_range({&m}, ColorMap::Viridis, {}, {});
  EXPECT_LT(range.low, range.high);
}

TEST(Colors, AlphaBlendsBetweenImageAndHeat) {
  const Image black(2, 2);
  const Matrix hot{1, 1, {1}};
  const auto at = [&](double alpha) {
    return overlay(black, hot, ColorMap::Grey, {0, 1}, {.alpha = alpha}).pixels[0];
  };
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(0.5), 128);
  EXPECT_EQ(at(1), 255);
}

TEST(Colors, EnlargingKeepsEveryPixelCrisp) {
  Image image(2, 1, 1);
  image.pixels = {10, 200};
  const auto large = resize_nearest(image, 6, 3);
  EXPECT_EQ(large.channels, 3);
  EXPECT_EQ(large.at(2, 2)[0], 10);
  EXPECT_EQ(large.at(3, 0)[2], 200);
}

TEST(Colors, AFadingOverlayLeavesTheMiddleOfItsRangeAsItIs) {
  Image grey(3, 1, 1);
  grey.pixels = {100, 100, 100};
  const Matrix values{1, 3, {-1, 0, 1}};
  const auto shown =
      overlay(grey, values, ColorMap::Grey, {-1, 1}, {.alpha = 0.5, .fade = true, .smooth = false});
  EXPECT_EQ(shown.at(0, 0)[0], 50);
  EXPECT_EQ(shown.at(1, 0)[0], 100);
  EXPECT_EQ(shown.at(2, 0)[0], 178);
}

}  // namespace vitrine::plot
