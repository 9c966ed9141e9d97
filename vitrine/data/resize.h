#pragma once

#include <cstdint>

#include "vitrine/core/image.h"

// Sizes of images, equal byte for byte to torchvision 0.14 on PIL images
// (tests/fixtures/make_transforms.py). Images are grey or RGB.

namespace vitrine {

enum class Interpolation { Nearest, Bilinear, Bicubic };

/// Resizes with Pillow's fixed-point filters, antialiased where it shrinks.
Image resize(const Image& image, int64_t width, int64_t height, Interpolation interpolation);
/// Resizes so that the short side is `size` and the proportions stay.
Image resize_short_side(const Image& image, int64_t size, Interpolation interpolation);

/// The image, made smaller if its short side has more than 192 pixels: for sheets of many.
Image thumbnail(Image image);

/// The centre of `resize_short_side`, without computing what is cut off: a very long image takes no
/// more memory than a square one.
Image resized_centre(const Image& image, int64_t short_side, int64_t size,
                     Interpolation interpolation);

}  // namespace vitrine
