#pragma once

#include <cstdint>

#include "vitrine/core/image.h"

// Colours of images, equal byte for byte to torchvision 0.14 on PIL images
// (tests/fixtures/make_transforms.py). Images are grey or RGB.

namespace vitrine {

/// These four blend with black, the mean grey, the grey image and a smoothed image: factor 1
/// changes nothing, 0 gives the other image.
Image adjust_brightness(const Image& image, double factor);
Image adjust_contrast(const Image& image, double factor);
Image adjust_saturation(const Image& image, double factor);
Image adjust_sharpness(const Image& image, double factor);
/// Turns the hue by a fraction of the circle, -0.5 to 0.5; grey images stay as they are.
Image adjust_hue(const Image& image, double turn);

/// Keeps the upper `bits` of each value.
Image posterize(const Image& image, int64_t bits);
/// Inverts the values at or above the threshold.
Image solarize(const Image& image, double threshold);
/// Stretches each channel to 0 .. 255.
Image autocontrast(const Image& image);
/// Flattens each channel's histogram.
Image equalize(const Image& image);

/// The image with 1 (luma) or 3 channels.
Image with_channels(const Image& image, int64_t channels);

}  // namespace vitrine
