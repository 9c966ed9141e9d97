#include "vitrine/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"

namespace vitrine {
namespace {

struct SyntheticSettings {
  int64_t train = 512, test = 128;
  int64_t image = 32;
  int64_t channels = 3;
  int64_t classes = 10;

  void visit(Fields& f) {
    f("train", train, "training images");
    f("test", test, "test images");
    f("image", image, "side of an image in pixels");
    f("channels", channels, "1 = grey, 3 = colour");
    f("classes", classes, "number of classes");
  }
  void validate() const {
    check(train >= 1 && test >= 1, "synthetic: train {} and test {} must be positive", train, test);
    check(image >= 4, "synthetic: image {} is less than 4", image);
    check(channels == 1 || channels == 3, "synthetic: channels {} is neither 1 nor 3", channels);
    check(classes >= 2, "synthetic: classes {} is less than 2", classes);
  }
};

constexpr double kGoldenTurn = 0.618033988749895;  // spreads any number of classes over a circle

/// Stripes whose direction, width and colour depend on the class.
void paint(int64_t label, const SyntheticSettings& c, Random random, Image& image) {
  const double turn = std::fmod(static_cast<double>(label) * kGoldenTurn, 1.0);
  const double angle = std::numbers::pi * turn;
  const double waves = 2 + static_cast<double>(label % 3);
  const double phase = random.uniform(0, 2 * std::numbers::pi);
  const double light = random.uniform(0.7, 1.0);
  const double dx = std::cos(angle) * waves / static_cast<double>(c.image);
  const double dy = std::sin(angle) * waves / static_cast<double>(c.image);
  for (int64_t y = 0; y < c.image; ++y)
    for (int64_t x = 0; x < c.image; ++x) {
      const double at = static_cast<double>(x) * dx + static_cast<double>(y) * dy;
      const double stripe = 0.5 + 0.5 * std::sin(2 * std::numbers::pi * at + phase);
      for (int64_t ch = 0; ch < c.channels; ++ch) {
        const double third = static_cast<double>(ch) / 3;
        const double hue = 0.5 + 0.5 * std::cos(2 * std::numbers::pi * (turn + third));
        const double shade = c.channels == 1 ? stripe : 0.35 * stripe + 0.65 * hue;
        const double value = 255 * light * shade + random.uniform(-20, 20);
        image.at(x, y)[ch] = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
      }
    }
}

class SyntheticData : public DatasetOf<SyntheticData, SyntheticSettings> {
 public:
  std::optional<ImageTraits> images() const override {
    return ImageTraits{.side = settings.image,
                       .channels = settings.channels,
                       .mean = std::vector<double>(settings.channels, 0.43),
                       .std = std::vector<double>(settings.channels, 0.24)};
  }
  std::unique_ptr<Dataset> open(const DataConfig&, Split split) const override {
    if (split == Split::Validation) return nullptr;
    const auto& c = settings;
    c.validate();
    std::vector<std::string> classes;
    for (int64_t k = 0; k < c.classes; ++k) classes.push_back(fmt::format("stripes {}", k));
    auto data = std::make_unique<MemoryDataset>(c.image, c.channels, classes);
    Image image(c.image, c.image, c.channels);
    const auto count = split == Split::Train ? c.train : c.test;
    for (int64_t i = 0; i < count; ++i) {
      const auto label = i % c.classes;
      paint(label, c, Random{static_cast<uint64_t>(split), static_cast<uint64_t>(i)}, image);
      data->add(image.pixels.data(), label);
    }
    return data;
  }
  bool stratified() const override { return false; }  // as the sets that it stands for
  std::string fetch(const DataConfig&, const std::string&) const override {
    return "synthetic: made on the fly, nothing to fetch";
  }
};

}  // namespace

DatasetEntry synthetic_dataset() {
  return {"synthetic stripes for tests and demonstrations; nothing to fetch",
          std::make_shared<SyntheticData>()};
}

}  // namespace vitrine
