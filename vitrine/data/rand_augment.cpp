#include "vitrine/data/rand_augment.h"

#include <cmath>
#include <functional>

#include "vitrine/core/registry.h"
#include "vitrine/data/color.h"
#include "vitrine/data/geometry.h"
#include "vitrine/data/resize.h"

namespace vitrine {
namespace {

constexpr double kStrongest = 30;
constexpr double kFarthest = 150.0 / 331.0;  // fraction of the image's side

struct Operation {
  bool signed_amount;
  std::function<double(double strength, int64_t width, int64_t height)> amount;  // strength 0 .. 1
  std::function<Image(const Image&, double amount)> apply;
};

/// An amount that grows evenly from 0 to `most`.
auto up_to(double most) {
  return [most](double strength, int64_t, int64_t) { return most * strength; };
}

const Registry<Operation>& operations() {
  static const auto registry = [] {
    Registry<Operation> r("RandAugment operation");
    r.add("Identity", {false, up_to(0), [](const Image& i, double) { return i; }});
    r.add("ShearX", {true, up_to(0.3), shear_x});
    r.add("ShearY", {true, up_to(0.3), shear_y});
    r.add("TranslateX",
          {true, [](double s, int64_t width, int64_t) { return s * kFarthest * double(width); },
           [](const Image& i, double a) { return translate(i, static_cast<int64_t>(a), 0); }});
    r.add("TranslateY",
          {true, [](double s, int64_t, int64_t height) { return s * kFarthest * double(height); },
           [](const Image& i, double a) { return translate(i, 0, static_cast<int64_t>(a)); }});
    r.add("Rotate", {true, up_to(30), [](const Image& i, double a) {
                       return rotate(i, a, Interpolation::Nearest);
                     }});
    r.add("Brightness",
          {true, up_to(0.9), [](const Image& i, double a) { return adjust_brightness(i, 1 + a); }});
    r.add("Color",
          {true, up_to(0.9), [](const Image& i, double a) { return adjust_saturation(i, 1 + a); }});
    r.add("Contrast",
          {true, up_to(0.9), [](const Image& i, double a) { return adjust_contrast(i, 1 + a); }});
    r.add("Sharpness",
          {true, up_to(0.9), [](const Image& i, double a) { return adjust_sharpness(i, 1 + a); }});
    r.add("Posterize",
          {false, [](double s, int64_t, int64_t) { return 8 - std::nearbyint(4 * s); },
           [](const Image& i, double a) { return posterize(i, static_cast<int64_t>(a)); }});
    r.add("Solarize", {false, [](double s, int64_t, int64_t) { return 255 - 255 * s; }, solarize});
    r.add("AutoContrast",
          {false, up_to(0), [](const Image& i, double) { return autocontrast(i); }});
    r.add("Equalize", {false, up_to(0), [](const Image& i, double) { return equalize(i); }});
    return r;
  }();
  return registry;
}

}  // namespace

const std::vector<std::string>& rand_augment_operations() { return operations().names(); }

double rand_augment_amount(const std::string& operation, int64_t magnitude, int64_t width,
                           int64_t height) {
  const double strength = static_cast<double>(magnitude) / kStrongest;
  // torchvision's table of amounts is in float.
  return static_cast<float>(operations().get(operation).amount(strength, width, height));
}

Image rand_augment_apply(const Image& image, const std::string& operation, double amount) {
  return operations().get(operation).apply(image, amount);
}

Image rand_augment(Image image, int64_t count, int64_t magnitude, Random& random) {
  const auto& names = operations().names();
  for (int64_t i = 0; i < count; ++i) {
    const auto& name = names[random.below(static_cast<int64_t>(names.size()))];
    double amount = rand_augment_amount(name, magnitude, image.width, image.height);
    if (operations().get(name).signed_amount && random.chance(0.5)) amount = -amount;
    image = rand_augment_apply(image, name, amount);
  }
  return image;
}

}  // namespace vitrine
