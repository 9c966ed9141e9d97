#pragma once

#include "vitrine/core/files.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine {

/// The tensors of a file in any format that is known, told by its content and not by its name:
/// safetensors, npz, PyTorch (.pth, .pt, .bin), TensorFlow.js (model.json, or its folder). Throws
/// an `Error` that names the file.
TensorFile read_tensors(const fs::path& path, TensorContent content = TensorContent::Values);

}  // namespace vitrine
