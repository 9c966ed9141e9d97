#pragma once

#include <memory>

#include "vitrine/data/registry.h"

namespace vitrine {

/// Synthetic images that can be learnt: a class is a colour with a direction and width of stripes;
/// phase, brightness and noise vary. Decided by (split, index) alone.
DatasetEntry synthetic_dataset();

}  // namespace vitrine
