#include "vitrine/data/waves.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <numeric>

#include "tests/support/errors.h"
#include "vitrine/data/image_batches.h"

namespace vitrine {
namespace {

Batch every_wave(const BatchSource& source) {
  std::vector<int64_t> all(source.size());
  std::iota(all.begin(), all.end(), 0);
  return source.load(all, /*epoch=*/0);
}

/// Inputs and target side by side: (B, length + 1), in double.
torch::Tensor whole_waves(const BatchSource& source) {
  const auto batch = every_wave(source);
  return torch::cat({batch.inputs, batch.targets.unsqueeze(1)}, 1).to(torch::kDouble);
}

constexpr WaveOptions kFewWaves = {.length = 12, .train = 200, .validation = 50, .test = 60};

}  // namespace

TEST(Waves, FollowTheRecurrenceOfASine) {
  const auto splits = waves(kFewWaves, 1);
  EXPECT_EQ(splits.task, Task::NextValue);
  const auto y = whole_waves(*splits.train);
  ASSERT_EQ(y.sizes(), (std::vector<int64_t>{200, 13}));
  // y(t + 1) + y(t - 1) = 2 cos(f) y(t): the same factor at every t of a wave.
  const auto middle = y.slice(1, 1, 12), sums = y.slice(1, 2, 13) + y.slice(1, 0, 11);
  const auto factor = (sums * middle).sum(1) / middle.square().sum(1);
  EXPECT_LT((sums - factor.unsqueeze(1) * middle).abs().max().item<double>(), 1e-5);

  const auto f = (factor / 2).acos();
  EXPECT_GE(f.min().item<double>(), 0.199);
  EXPECT_LE(f.max().item<double>(), 1.001);
  // A^2 = (y0^2 + y1^2 - 2 y0 y1 cos f) / sin^2 f.
  const auto y0 = y.select(1, 0), y1 = y.select(1, 1);
  const auto amplitude = ((y0.square() + y1.square() - factor * y0 * y1) / f.sin().square()).sqrt();
  EXPECT_GE(amplitude.min().item<double>(), 0.49);
  EXPECT_LE(amplitude.max().item<double>(), 1.51);
  EXPECT_GT(amplitude.std().item<double>(), 0.2);
}

TEST(Waves, DependOnTheSeedAndTheirPartsAreDisjoint) {
  const auto splits = waves(kFewWaves, 1), again = waves(kFewWaves, 1), other = waves(kFewWaves, 2);
  EXPECT_TRUE(whole_waves(*splits.test).equal(whole_waves(*again.test)));
  EXPECT_FALSE(whole_waves(*splits.test).equal(whole_waves(*other.test)));
  const auto train = whole_waves(*splits.train);
  for (const auto* part : {&splits.validation, &splits.test}) {
    const auto difference = train.unsqueeze(1) - whole_waves(**part).unsqueeze(0);
    EXPECT_GT(difference.abs().amax(2).min().item<double>(), 1e-6);
  }
  auto more = kFewWaves;
  more.train = 300;  // moves no other wave
  EXPECT_TRUE(whole_waves(*waves(more, 1).test).equal(whole_waves(*splits.test)));
}

TEST(Waves, NoiseIsAddedToWhatIsSeenOnly) {
  auto noisy = kFewWaves;
  noisy.noise = 0.1;
  const auto clean = every_wave(*waves(kFewWaves, 1).train),
             seen = every_wave(*waves(noisy, 1).train);
  EXPECT_TRUE(seen.targets.equal(clean.targets));
  EXPECT_NEAR((seen.inputs - clean.inputs).std().item<double>(), 0.1, 0.01);
}

TEST(Waves, AreADataSetWithTheRecipesLengthAndLimit) {
  DataConfig config;
  config.dataset = read_dataset("{name: waves, length: 30}");
  config.limit = 100;
  const auto splits = open_data(config, 1);
  EXPECT_EQ(every_wave(*splits.train).inputs.sizes(), (std::vector<int64_t>{100, 30}));
  EXPECT_EQ(splits.test->size(), WaveOptions().test);
  EXPECT_TRUE(test::contains(test::error_of([&] { open_image_splits(config, 1); }),
                             "'waves' does not consist of images"));
  config.dataset = read_dataset("{name: waves, length: 1}");
  EXPECT_TRUE(test::contains(test::error_of([&] { config.validate(); }), "waves: length 1"));
}

TEST(Waves, AreNoImages) {
  DataConfig config;
  config.dataset.choose("waves");
  EXPECT_FALSE(config.dataset->images().has_value());
  EXPECT_FALSE(preprocess_of(config).has_value());
  EXPECT_TRUE(resolved_data_config(config).preprocess.mean.empty());
  config.augment.flip = 0.5;
  EXPECT_TRUE(test::contains(test::error_of([&] { config.validate(); }),
                             "'waves' does not consist of images; leave out data.preprocess"));
}

}  // namespace vitrine
