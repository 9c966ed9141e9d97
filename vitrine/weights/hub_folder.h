#pragma once

// Apart from hub_config.h, which needs no torch.

#include "vitrine/core/files.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine {

/// Whether there are such weights in a folder.
bool holds_hub_weights(const fs::path& folder);

/// The weights in a folder: model.safetensors, its shards, else pytorch_model.bin or .pth, else the
/// only file of weights.
TensorFile read_hub_weights(const fs::path& folder, TensorContent content = TensorContent::Values);

}  // namespace vitrine
