#pragma once

#include "vitrine/data/registry.h"

namespace vitrine {

/// The images of CIFAR-10 as 3072 bytes, R0 G0 B0 R1 ..., each to be predicted from those before
/// it: (B, 3072) int64, inputs and targets the same.
DatasetEntry cifar10_bytes_dataset();

/// The file `file` as sequences of `length` bytes: the last fractions `data.validation` are for
/// validation and test. In training the cuts between sequences move from epoch to epoch.
DatasetEntry bytes_dataset();

}  // namespace vitrine
