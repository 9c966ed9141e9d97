#pragma once

#include "vitrine/data/registry.h"

namespace vitrine {

/// The user's own JPEG, PNG and WebP files under `path`: PATH/CLASS/*.jpg, or
/// PATH/train/CLASS/*.jpg with val (or validation) and test beside train.
DatasetEntry image_folder_dataset();

}  // namespace vitrine
