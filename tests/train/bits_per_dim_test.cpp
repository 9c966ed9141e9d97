#include "vitrine/train/bits_per_dim.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "tests/support/errors.h"
#include "vitrine/data/batch.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/train/evaluate.h"

namespace vitrine {
namespace {

constexpr double kTolerance = 1e-5;

void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], kTolerance) << i;
}

/// Logits that give the true byte of each place this many bits: 2^-bits for it, the rest shared.
torch::Tensor logits_for(const torch::Tensor& bytes, const torch::Tensor& bits) {
  const auto likely = torch::exp2(-bits).unsqueeze(-1);                         // (B, T, 1)
  const auto shared = ((1 - likely) / 255).expand({-1, -1, 256}).contiguous();  // (B, T, 256)
  return shared.scatter(2, bytes.unsqueeze(-1), likely).log().to(torch::kFloat);
}

class FixedBytes : public BatchSource {
 public:
  explicit FixedBytes(torch::Tensor bytes) : bytes_(std::move(bytes)) {}
  int64_t size() const override { return bytes_.size(0); }
  Batch load(const std::vector<int64_t>& indices, int64_t /*epoch*/) const override {
    const auto some = bytes_.index_select(0, torch::tensor(indices, torch::kLong));
    return {some, some};
  }

 private:
  torch::Tensor bytes_;
};

}  // namespace

TEST(ImageBitsPerDim, AreMeansOverTheBytesOfAChannelAndOfARow) {
  // Two rows of one pixel: R G B R G B.
  const auto bits =
      torch::tensor({{1., 2., 3., 4., 5., 6.}, {3., 2., 1., 6., 7., 8.}}, torch::kDouble);
  const auto bytes = torch::tensor({{0, 255, 7, 9, 9, 1}, {5, 4, 3, 2, 1, 0}}, torch::kLong);
  ImageBitsPerDim image_bits({.rows = 2, .columns = 1, .channels = 3});
  image_bits.add(logits_for(bytes, bits), bytes);
  expect_near(image_bits.channels(), {14. / 4, 16. / 4, 18. / 4});
  expect_near(image_bits.rows(), {12. / 6, 36. / 6});
}

TEST(ImageBitsPerDim, AddUpOverColumnsAndBatches) {
  // One row of two pixels.
  ImageBitsPerDim image_bits({.rows = 1, .columns = 2, .channels = 3});
  const auto bytes = torch::tensor({{10, 20, 30, 40, 50, 60}}, torch::kLong);
  image_bits.add(logits_for(bytes, torch::tensor({{1., 2., 3., 3., 4., 5.}}, torch::kDouble)),
                 bytes);
  image_bits.add(logits_for(bytes, torch::tensor({{5., 6., 7., 7., 8., 9.}}, torch::kDouble)),
                 bytes);
  expect_near(image_bits.channels(), {4, 5, 6});
  expect_near(image_bits.rows(), {5});
}

TEST(ImageBitsPerDim, AgreeWithTheLossOfAModel) {
  torch::manual_seed(1);
  SparseTransformerConfig config;
  config.rows = 4, config.columns = 2, config.layers = 1, config.dim = 8, config.key_width = 4;
  config.hidden = 16, config.pattern.stride = 6;
  SparseTransformer model(config);
  const FixedBytes source(torch::randint(256, {5, config.length()}, torch::kLong));
  Splits data{.task = Task::NextToken, .vocabulary = kByteValues};
  data.image_layout = ImageLayout{config.rows, config.columns, config.channels};
  const auto objective = make_objective(data, ObjectiveSettings(/*smoothing=*/0));
  const auto evaluated = [&](Report& report) {
    return evaluate(model, source, *objective, {.batch = 2, .label = "test", .reports = {&report}})
        .loss;
  };
  // The last layer begins with zeros: each of 256 values is equally likely.
  const auto untrained = objective->make_report();
  EXPECT_NEAR(evaluated(*untrained), std::log(256), kTolerance);
  expect_near(untrained->json()["channels"], {8, 8, 8});
  expect_near(untrained->json()["rows"], {8, 8, 8, 8});
  EXPECT_TRUE(test::contains(untrained->text(),
                             "bits per dim by channel\n    R 8.0000    G 8.0000    B 8.0000\n"));
  EXPECT_TRUE(test::contains(untrained->text(),
                             "by row of the image\n    0 8.0000    1 8.0000    2 8.0000    3"));
  torch::nn::init::normal_(model.head->weight);
  const auto report = objective->make_report();
  const double loss = evaluated(*report);
  const std::vector<double> channels = report->json()["channels"], rows = report->json()["rows"];
  EXPECT_GT(std::abs(channels[0] - channels[1]), kTolerance);
  EXPECT_NEAR((channels[0] + channels[1] + channels[2]) / 3, loss / std::numbers::ln2, kTolerance);
  EXPECT_NEAR((rows[0] + rows[1] + rows[2] + rows[3]) / 4, loss / std::numbers::ln2, kTolerance);
}

TEST(ImageBitsPerDim, RefuseLogitsOfAnotherImage) {
  ImageBitsPerDim bits({.rows = 2, .columns = 2, .channels = 3});
  EXPECT_TRUE(
      test::contains(test::error_of([&] {
                       bits.add(torch::zeros({1, 6, 256}), torch::zeros({1, 6}, torch::kLong));
                     }),
                     "logits 1x6x256 of bytes 1x6 are not those of images of 2x2x3"));
}

}  // namespace vitrine
