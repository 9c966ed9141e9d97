#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/precision.h"

namespace vitrine {

struct LoadedCheckpoint;

struct OnnxOptions {
  bool attention = false;  // the attention weights of every layer as further outputs
  Precision precision = Precision::Float32;  // of products with weights (`lower_precision`)
};

/// An input or output of an exported file; the first dimension is the batch size.
struct OnnxPort {
  std::string name;
  std::vector<int64_t> shape;  // of one example
};

/// What was written.
struct OnnxSummary {
  std::vector<OnnxPort> inputs, outputs;
  int64_t nodes = 0;
  int64_t bytes = 0;  // of the file
};

/// Writes a model in evaluation mode as an ONNX file (operator set 17) that takes batches of any
/// size: `image` (B, C, H, W), normalised, or `tokens` (B, T) int64 -> `logits`. Its metadata holds
/// the model's settings, classes and preprocessing. Models with operators that the export does not
/// know are refused.
OnnxSummary export_onnx(const LoadedCheckpoint& checkpoint, const fs::path& path,
                        const OnnxOptions& options = {});

}  // namespace vitrine
