#pragma once

#include <string>
#include <vector>

#include "vitrine/core/image.h"
#include "vitrine/core/random.h"

namespace vitrine {

/// The names of RandAugment's operations (Cubuk et al., 2019), as torchvision has them.
const std::vector<std::string>& rand_augment_operations();

/// The amount of an operation at strength `magnitude` (0 to 30) on an image this size.
double rand_augment_amount(const std::string& operation, int64_t magnitude, int64_t width,
                           int64_t height);

/// Applies one operation by name.
Image rand_augment_apply(const Image& image, const std::string& operation, double amount);

/// `count` operations drawn at random, each at `magnitude`, to either side where it has two.
Image rand_augment(Image image, int64_t count, int64_t magnitude, Random& random);

}  // namespace vitrine
