#pragma once

#include <limits>

#include "vitrine/core/files.h"
#include "vitrine/onnx/graph.h"

namespace vitrine {

/// What a protocol buffer, and so an ONNX file without others beside it, may take.
inline constexpr int64_t kOnnxFileLimit = std::numeric_limits<int32_t>::max();

/// Writes the graph as an ONNX file (operator set 17) after libonnx has checked every node and the
/// types and shapes between them. Refuses what would be larger than `limit` bytes.
void write_onnx(const fs::path& path, const OnnxGraph& graph, int64_t limit = kOnnxFileLimit);

}  // namespace vitrine
