#include "vitrine/data/palette.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"
#include "vitrine/core/random.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/formats/npy.h"

namespace vitrine {
namespace {

std::vector<float> random_values(int64_t count, uint64_t seed) {
  Random random{seed};
  std::vector<float> values(static_cast<size_t>(count));
  for (auto& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return values;
}

int64_t nearest_of_all(const std::vector<float>& colors, const float* pixel) {
  int64_t best = 0;
  double least = 1e9;
  for (int64_t i = 0; i < std::ssize(colors) / 3; ++i) {
    double distance = 0;
    for (int c = 0; c < 3; ++c) distance += std::pow(double{pixel[c]} - colors[3 * i + c], 2);
    if (distance < least) std::tie(best, least) = std::pair(i, distance);
  }
  return best;
}

DataConfig painted(const std::string& palette) {
  DataConfig config;
  Settings::from_text(
      "{dataset: {name: synthetic, image: 8, train: 64, test: 16}, batch: 4, palette: " + palette +
          "}",
      "test")
      .read_into(config);
  return config;
}

void write_npy(const fs::path& path, const torch::Tensor& tensor) {
  const auto* bytes = static_cast<const char*>(tensor.data_ptr());
  write_file_atomically(path,
                        npy_header(tensor, "test") + std::string(bytes, bytes + tensor.nbytes()));
}

}  // namespace

TEST(Palette, FindsTheNearestOfAllColours) {
  for (const int64_t count : {1, 2, 17, 512}) {
    const auto colors = random_values(3 * count, 1);
    const Palette palette(colors);
    auto pixels = random_values(3 * 2000, 2);
    for (int64_t i = 0; i < 300; ++i) pixels[i] = pixels[i] < 0 ? -1.0F : 1.0F;  // corners
    for (size_t i = 0; i < pixels.size(); i += 3)
      EXPECT_EQ(palette.nearest(pixels[i], pixels[i + 1], pixels[i + 2]),
                nearest_of_all(colors, pixels.data() + i));
  }
}

TEST(Palette, PaintsAnImageOfItsOwnColoursAsItWas) {
  const Palette palette({-1, -1, -1, 1, 1, 1, 1, -1, -1, -1, 1, -1});
  Image image(2, 2);
  image.pixels = {0, 0, 0, 255, 0, 0, 0, 255, 0, 255, 255, 255};
  const auto tokens = palette.tokens(image);
  EXPECT_EQ(tokens, (std::vector<int64_t>{0, 2, 3, 1}));
  std::vector<uint8_t> again;
  for (const auto token : tokens)
    for (const auto byte : palette.pixel(token)) again.push_back(byte);
  EXPECT_EQ(again, image.pixels);
}

TEST(Palette, KMeansFindsClustersAndIsRepeatable) {
  std::vector<float> pixels;
  Random random{3};
  const std::vector<float> centres = {-0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5, -0.5, 0};
  for (int i = 0; i < 900; ++i)
    for (int c = 0; c < 3; ++c)
      pixels.push_back(centres[3 * (i % 3) + c] + static_cast<float>(random.uniform(-0.1, 0.1)));
  const auto palette = fit_palette(pixels, 3);
  EXPECT_EQ(palette.colors(), fit_palette(pixels, 3).colors());
  for (int i = 0; i < 3; ++i) {
    const auto near = palette.nearest(centres[3 * i], centres[3 * i + 1], centres[3 * i + 2]);
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(palette.colors()[3 * near + c], centres[3 * i + c], 0.02);
  }
}

TEST(Palette, RefusesWhatIsNone) {
  EXPECT_TRUE(test::contains(test::error_of([] { Palette({}); }), "0 values are not red"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               Palette({1, 0, 0, 1});
                             }),
                             "4 values are not red"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               Palette({1, 0, 2});
                             }),
                             "2 is not between -1 and 1"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               fit_palette({1, 0, 0, 1, 0, 0}, 2);
                             }),
                             "have only 1 colours; set data.palette.colors=1"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               Palette({0, 0, 0}).tokens(Image(1, 1, 1));
                             }),
                             "1 channel"));
}

TEST(PaletteData, ImagesBecomeTheTokensOfTheirPixels) {
  const auto config = painted("{colors: 16}");
  const auto splits = open_data(config, 1);
  ASSERT_TRUE(splits.palette.has_value());
  EXPECT_EQ(splits.task, Task::NextToken);
  EXPECT_EQ(splits.vocabulary, 16);
  EXPECT_EQ(splits.palette->colors(), open_data(config, 1).palette->colors());
  const auto batch = splits.test->load({0, 3}, -1);
  EXPECT_EQ(batch.inputs.sizes(), (std::vector<int64_t>{2, 64}));
  EXPECT_TRUE(batch.inputs.equal(batch.targets));
  auto plain = config;
  plain.palette.colors = 0;
  plain.preprocess.mean = plain.preprocess.std = {0.5, 0.5, 0.5};
  const auto images = open_data(plain, 1).test->load({0, 3}, -1).inputs;
  for (int64_t t = 0; t < 64; ++t) {
    const auto pixel = images[1].flatten(1).select(1, t).contiguous();
    EXPECT_EQ(batch.inputs[1][t].item<int64_t>(),
              nearest_of_all(splits.palette->colors(), pixel.data_ptr<float>()));
  }
}

TEST(PaletteData, TakesAPaletteFromAFileOrFromAModel) {
  const test::TemporaryFolder folder;
  const auto colors = torch::tensor(random_values(24, 5)).view({8, 3});
  write_npy(folder / "clusters.npy", colors);
  auto config = painted(fmt::format("{{colors: 8, file: {}}}", (folder / "clusters.npy").string()));
  EXPECT_TRUE(palette_tensor(*open_data(config, 1).palette).equal(colors));
  config.palette.known = random_values(24, 6);
  EXPECT_EQ(open_data(config, 1).palette->colors(), config.palette.known);
}

TEST(PaletteData, RefusesWhatDoesNotFit) {
  const test::TemporaryFolder folder;
  write_npy(folder / "wide.npy", torch::zeros({8, 4}));
  const auto refusal = [](const std::string& palette) {
    return test::error_of([&] { open_data(painted(palette), 1); });
  };
  const auto wide = (folder / "wide.npy").string();
  EXPECT_TRUE(test::contains(refusal(fmt::format("{{colors: 8, file: {}}}", wide)),
                             "holds 8x4 numbers, and palette.colors 8 wants 8x3"));
  EXPECT_TRUE(test::contains(refusal(fmt::format("{{file: {}}}", wide)), "palette.colors is 0"));
  EXPECT_TRUE(test::contains(refusal("{colors: 1}"), "palette.colors 1 is neither 0 nor from 2"));
  DataConfig grey;
  Settings::from_text("{dataset: mnist, palette: {colors: 8}}", "test").read_into(grey);
  EXPECT_TRUE(test::contains(test::error_of([&] { grey.validate(); }), "colour images"));
  auto mixed = painted("{colors: 8}");
  mixed.augment.mixup = 0.2;
  EXPECT_TRUE(test::contains(test::error_of([&] { mixed.validate(); }), "mixup and cutmix"));
  auto scaled = painted("{colors: 8}");
  scaled.preprocess.mean = scaled.preprocess.std = {0.4, 0.4, 0.4};
  EXPECT_TRUE(test::contains(test::error_of([&] { scaled.validate(); }), "pixels from -1 to 1"));
}

}  // namespace vitrine
