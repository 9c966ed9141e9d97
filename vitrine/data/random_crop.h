#pragma once

#include <cstdint>

#include "vitrine/core/random.h"
#include "vitrine/data/geometry.h"

namespace vitrine {

/// torchvision's RandomResizedCrop: a box with a fraction of the area from `smallest_area` to 1 and
/// a width of 3/4 to 4/3 of its height; the largest such box in the middle where none fits by
/// chance.
Rectangle random_crop_box(int64_t width, int64_t height, double smallest_area, Random& random);

/// The least that the short side of such a box in a square image can be, as a fraction of the
/// image's.
double shortest_crop_side(double smallest_area);

}  // namespace vitrine
