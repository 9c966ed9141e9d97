#include "vitrine/weights/vit_preprocess.h"

#include "vitrine/models/model.h"

namespace vitrine {
namespace {

const std::vector<double> kImageNetMean = {0.485, 0.456, 0.406},
                          kImageNetStd = {0.229, 0.224, 0.225};

/// Images are scaled to [-1, 1].
Preprocess half_half(const ImageShape& shape, int64_t resize, Interpolation interpolation) {
  const std::vector<double> half(static_cast<size_t>(shape.channels), 0.5);
  return {.image = shape.image,
          .resize = resize,
          .interpolation = interpolation,
          .channels = shape.channels,
          .mean = half,
          .std = half};
}

Preprocess with_imagenet_statistics(Preprocess how) {
  if (how.channels == std::ssize(kImageNetMean)) {
    how.mean = kImageNetMean;
    how.std = kImageNetStd;
  }
  return how;
}

}  // namespace

Preprocess timm_preprocess(const ImageShape& shape) {
  const auto resize = shape.image < 384 ? shape.image * 10 / 9 : shape.image;
  return half_half(shape, resize, Interpolation::Bicubic);
}

Preprocess hugging_face_preprocess(const ImageShape& shape) {
  return half_half(shape, shape.image * 8 / 7, Interpolation::Bilinear);
}

Preprocess torchvision_preprocess(const ImageShape& shape) {
  return with_imagenet_statistics(
      shape.image < 384 ? half_half(shape, shape.image * 8 / 7, Interpolation::Bilinear)
                        : half_half(shape, shape.image, Interpolation::Bicubic));
}

Preprocess google_preprocess(const ImageShape& shape) {
  auto how = half_half(shape, shape.image, Interpolation::Bilinear);
  how.stretch = true;
  return how;
}

Preprocess deit_preprocess(const ImageShape& shape) {
  return with_imagenet_statistics(timm_preprocess(shape));
}

}  // namespace vitrine
