#pragma once

#include "vitrine/core/files.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine {

/// Reads a file of numpy.savez or savez_compressed: every array under its name, no metadata. A file
/// that is cut short, damaged or not of numpy throws an `Error` that names it and the array.
TensorFile load_npz(const fs::path& path, TensorContent content = TensorContent::Values);

/// Writes the tensors so that numpy.load reads them; atomically, uncompressed.
void save_npz(const fs::path& path, const NamedTensors& tensors);

}  // namespace vitrine
