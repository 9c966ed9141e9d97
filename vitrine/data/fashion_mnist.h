#pragma once

#include "vitrine/data/registry.h"

namespace vitrine {

/// Fashion-MNIST from ROOT/fashion_mnist or, where that is absent, from Debian's package
/// dataset-fashion-mnist: the four IDX files, kept in memory.
DatasetEntry fashion_mnist_dataset();

}  // namespace vitrine
