// Real published weights on labelled photographs, against what PyTorch gives for them. The files
// are not part of the project: the tests are skipped unless VITRINE_PUBLISHED names a folder with
//   NAME_imagenet1k_timm.safetensors, photos/, photos_expected.json
//   NAME_hf.safetensors, sample/, expected.json
// (NAME: vit_tiny_patch16_224; expected files: label, top-5 and first eight logits of each image).
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "vitrine/core/image_files.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/weights/class_names.h"

namespace vitrine {
namespace {

constexpr double kLogitTolerance = 1e-3;

struct Expected {
  fs::path image;
  int64_t label;
  std::vector<double> logits;  // the first eight
};

class Published : public testing::Test {
 protected:
  void SetUp() override {
    const auto* folder = std::getenv("VITRINE_PUBLISHED");
    if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "VITRINE_PUBLISHED is not set";
    folder_ = folder;
  }
  nlohmann::json json(const std::string& file) const {
    return nlohmann::json::parse(read_file(folder_ / file));
  }
  /// Classifies each image and counts the right answers, first and among the first five.
  static std::pair<int, int> score(const Classifier& classifier,
                                   const std::vector<Expected>& images) {
    int first = 0, among_five = 0;
    for (const auto& [path, label, expected] : images) {
      const auto image = read_image(path);
      const auto logits = classifier.logits(image);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(logits[i], expected[i], kLogitTolerance) << path << " class " << i;
      const auto predictions = classifier.classify(image, 5);
      first += predictions[0].index == label;
      for (const auto& prediction : predictions) among_five += prediction.index == label;
    }
    return {first, among_five};
  }

  fs::path folder_;
};

TEST_F(Published, TimmFileNamesPhotographs) {
  const auto classifier =
      Classifier::load(folder_ / "vit_tiny_patch16_224_imagenet1k_timm.safetensors");
  EXPECT_EQ(classifier.classes(), imagenet_names());
  std::vector<Expected> images;
  const auto expected = json("photos_expected.json");
  for (const auto& [file, entry] : expected.items())
    images.push_back({folder_ / "photos" / file, entry["label"], entry["logits8"]});
  ASSERT_EQ(images.size(), 59);
  EXPECT_EQ(score(classifier, images), std::pair(37, 49));
}

TEST_F(Published, HuggingFaceFileNamesSmallImages) {
  const auto classifier =
      Classifier::load(folder_ / "vit_tiny_patch16_224_tinyimagenet200_hf.safetensors");
  std::vector<Expected> images;
  const auto expected = json("expected.json");
  for (const auto& entry : expected["images"])
    images.push_back({folder_ / "sample" / entry["file"].get<std::string>(), entry["label"],
                      entry["logits_first8"]});
  ASSERT_EQ(images.size(), 400);
  EXPECT_EQ(score(classifier, images), std::pair(263, 355));
}

}  // namespace
}  // namespace vitrine
