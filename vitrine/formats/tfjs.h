#pragma once

#include "vitrine/core/files.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine {

/// Whether the path is a layers model of TensorFlow.js: its model.json, or a folder with one.
bool is_tfjs(const fs::path& path);

/// Reads the weights of a layers model of TensorFlow.js (tfjs-converter): model.json, or the folder
/// that holds it and the shards that it names. Quantised weights (uint8, uint16, float16) become
/// float32. Shards are mapped; a tensor that two shards share is copied. Whatever does not fit
/// throws an `Error` that names the file and the tensor.
TensorFile load_tfjs(const fs::path& path);

}  // namespace vitrine
