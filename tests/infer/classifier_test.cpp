#include "vitrine/infer/classifier.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>

#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/image_batches.h"

namespace vitrine {
namespace {

Image noise(uint64_t seed, int64_t width, int64_t height) {
  Image image(width, height);
  Random random{seed};
  for (auto& value : image.pixels) value = static_cast<uint8_t>(random.below(256));
  return image;
}

class SmallClassifier : public testing::Test {
 protected:
  SmallClassifier() { test::save_small_checkpoint(path_, "vit_c10_small", test::kSmallVit); }

  test::TemporaryFolder folder_;
  const fs::path path_ = folder_ / "small.safetensors";
};

}  // namespace

TEST_F(SmallClassifier, GivesTheSoftmaxOfTheNetwork) {
  const auto image = noise(1, 16, 16);
  const auto predictions = Classifier::load(path_).classify(image, 4);
  const auto checkpoint = load_checkpoint(path_);
  const torch::NoGradGuard no_grad;
  const auto x = preprocess(image, *checkpoint.info.preprocess).unsqueeze(0);
  const auto shares = checkpoint.model->forward(x).softmax(1)[0];
  ASSERT_EQ(predictions.size(), 4);
  for (const auto& p : predictions) {
    EXPECT_NEAR(p.probability, shares[p.index].item<double>(), 1e-6);
    EXPECT_EQ(p.label, checkpoint.info.classes[p.index]);
  }
  for (size_t i = 1; i < 4; ++i)
    EXPECT_GE(predictions[i - 1].probability, predictions[i].probability);
}

TEST_F(SmallClassifier, NeedsItsFileNoMoreOnceLoaded) {
  for (const auto precision : {Precision::Float32, Precision::BFloat16, Precision::Int8}) {
    const auto copy = folder_ / "copy.safetensors";
    fs::copy_file(path_, copy, fs::copy_options::overwrite_existing);
    const auto image = noise(1, 16, 16);
    const auto classifier = Classifier::load(copy, "cpu", precision);
    const auto before = classifier.logits(image);
    fs::resize_file(copy, 0);
    EXPECT_EQ(classifier.logits(image), before);
  }
}

TEST_F(SmallClassifier, AnswersABatchAsItAnswersEachImage) {
  const auto classifier = Classifier::load(path_);
  const std::vector<Image> images = {noise(1, 16, 16), noise(2, 50, 30), noise(3, 8, 90)};
  const auto batch = classifier.classify_batch(images, 2);
  ASSERT_EQ(batch.size(), 3);
  for (size_t i = 0; i < 3; ++i) {
    const auto single = classifier.classify(images[i], 2);
    ASSERT_EQ(batch[i].size(), 2);
    EXPECT_EQ(batch[i][0].index, single[0].index);
    EXPECT_NEAR(batch[i][0].probability, single[0].probability, 1e-5);
  }
  EXPECT_TRUE(classifier.classify_batch({}, 2).empty());
}

TEST_F(SmallClassifier, GivesTheLogitsAndTheFeaturesOfTheNetwork) {
  const auto classifier = Classifier::load(path_);
  const std::vector<Image> images = {noise(1, 16, 16), noise(2, 40, 20)};
  const auto checkpoint = load_checkpoint(path_);
  const torch::NoGradGuard no_grad;
  const auto logits = classifier.logits_batch(images), features = classifier.features_batch(images);
  ASSERT_EQ(logits.size(), 2);
  ASSERT_EQ(features.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    const auto x = preprocess(images[i], *checkpoint.info.preprocess).unsqueeze(0);
    const auto expected = checkpoint.model->features(x);
    EXPECT_TRUE(torch::allclose(torch::tensor(features[i]), expected[0], 1e-4, 1e-5));
    EXPECT_TRUE(torch::allclose(torch::tensor(logits[i]), checkpoint.model->logits(expected)[0],
                                1e-4, 1e-5));
  }
  EXPECT_EQ(classifier.logits(images[0]).size(), 4);
  EXPECT_EQ(classifier.features(images[0]).size(), 32);
  EXPECT_TRUE(torch::allclose(torch::tensor(classifier.features(images[1])),
                              torch::tensor(features[1]), 1e-4, 1e-5));
  EXPECT_TRUE(classifier.logits_batch({}).empty());
  EXPECT_TRUE(classifier.features_batch({}).empty());
}

TEST_F(SmallClassifier, ReadsManyFilesInOrderAndSaysWhichItCannot) {
  const auto classifier = Classifier::load(path_);
  std::vector<fs::path> files;
  for (uint64_t i = 0; i < 70; ++i) {  // more than two batches
    files.push_back(folder_ / std::to_string(i));
    if (i == 33)
      write_file_atomically(files[i], "no image");
    else if (i != 40)  // does not exist
      write_png(files[i], noise(i, 20, 16 + static_cast<int64_t>(i)));
  }
  size_t next = 0;
  classifier.classify_files(files, 2, [&](const FilePredictions& result) {
    ASSERT_LT(next, files.size());
    EXPECT_EQ(result.file, files[next]);
    if (next == 33 || next == 40) {
      EXPECT_TRUE(test::contains(result.error, files[next].string()));
      EXPECT_TRUE(result.predictions.empty());
    } else {
      const auto single = classifier.classify_file(files[next], 2);
      ASSERT_EQ(result.predictions.size(), 2) << result.error;
      EXPECT_EQ(result.predictions[0].index, single[0].index);
      EXPECT_NEAR(result.predictions[0].probability, single[0].probability, 1e-5);
    }
    ++next;
  });
  EXPECT_EQ(next, 70);
}

TEST_F(SmallClassifier, GivesAllClassesIfAskedForMore) {
  EXPECT_EQ(Classifier::load(path_).classify(noise(1, 16, 16), 100).size(), 4);
}

TEST_F(SmallClassifier, RefusesBadInputClearly) {
  const auto classifier = Classifier::load(path_);
  EXPECT_TRUE(test::contains(test::error_of([&] { classifier.classify(noise(1, 16, 16), 0); }),
                             "0 predictions"));
  EXPECT_TRUE(test::contains(test::error_of([&] { Classifier::load(folder_ / "none"); }),
                             "does not exist"));
  EXPECT_TRUE(test::contains(test::error_of([&] { Classifier::load(path_, "abacus"); }),
                             "device: 'abacus' is not known"));
}

}  // namespace vitrine
