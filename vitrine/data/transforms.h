#pragma once

#include <array>
#include <cstdint>

#include "vitrine/core/image.h"

// Pure functions with explicit parameters, equal byte for byte to torchvision 0.14 on PIL images
// (tests/fixtures/make_transforms.py). Images are grey or RGB; what lies outside becomes 0.

namespace vitrine {

enum class Interpolation { Nearest, Bilinear, Bicubic };

/// A rectangle of an image.
struct Rectangle {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

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
