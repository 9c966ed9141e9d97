#pragma once

#include <array>
#include <cstdint>

#include "vitrine/core/image.h"
#include "vitrine/data/resize.h"

// Crops, flips and affine transforms of images, equal byte for byte to torchvision 0.14 on PIL
// images (tests/fixtures/make_transforms.py). Images are grey or RGB; what lies outside becomes 0.

namespace vitrine {

/// A rectangle of an image.
struct Rectangle {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

/// The window with its corner at (left, top), which may lie outside.
Image crop(const Image& image, int64_t left, int64_t top, int64_t width, int64_t height);
/// The `size` x `size` window in the middle; it begins outside where a side is less.
Rectangle centre_window(int64_t width, int64_t height, int64_t size);
Image centre_crop(const Image& image, int64_t size);
/// The box, resized to `size` x `size`.
Image resized_crop(const Image& image, const Rectangle& box, int64_t size,
                   Interpolation interpolation);
Image flip_horizontally(const Image& image);

/// out(x, y) = in(m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]); nearest or bilinear.
Image affine(const Image& image, const std::array<double, 6>& m, Interpolation interpolation);
/// Rotates counter-clockwise about the centre; nearest or bilinear.
Image rotate(const Image& image, double degrees, Interpolation interpolation);
/// Shears by `amount` pixels per pixel (RandAugment's ShearX and ShearY), nearest.
Image shear_x(const Image& image, double amount);
Image shear_y(const Image& image, double amount);
/// Moves by whole pixels.
Image translate(const Image& image, int64_t right, int64_t down);

}  // namespace vitrine
