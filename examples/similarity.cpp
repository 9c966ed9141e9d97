// How alike two images are to a network: the cosine of the angle between their features, and the
// largest difference of their logits. similarity RUN_OR_CHECKPOINT IMAGE IMAGE

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>

#include "vitrine/core/image_files.h"
#include "vitrine/infer/classifier.h"

static float cosine(const std::vector<float>& a, const std::vector<float>& b) {
  const auto dot = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0f);
  };
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: similarity RUN_OR_CHECKPOINT IMAGE IMAGE\n");
    return 2;
  }
  try {
    const auto classifier = vitrine::Classifier::load(argv[1]);
    const auto first = vitrine::read_image(argv[2]), second = vitrine::read_image(argv[3]);
    const auto features = classifier.features_batch({first, second});
    std::printf("cosine of %zu features  %.4f\n", features[0].size(),
                cosine(features[0], features[1]));
    const auto a = classifier.logits(first), b = classifier.logits(second);
    float difference = 0;
    for (size_t k = 0; k < a.size(); ++k) difference = std::max(difference, std::abs(a[k] - b[k]));
    std::printf("largest logit difference  %.4f\n", difference);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
