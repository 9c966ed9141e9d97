#pragma once

#include "vitrine/data/registry.h"

namespace vitrine {

/// The user's own JPEG, PNG and WebP files under `folder` of the config: FOLDER/CLASS/*.jpg, or
/// FOLDER/train/CLASS/*.jpg with val (or validation) and test beside train.
DatasetEntry image_folder_entry();

}  // namespace vitrine
