#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Named tensors and notes about them, as a safetensors file holds them.
struct TensorFile {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor called `name`, or nullptr.
  const torch::Tensor* find(std::string_view name) const;
};

/// What is read of a file: all of it, or names, types and shapes alone. Tensors without values lie
/// on the meta device; reading them costs no more than the headers, and checksums are not compared.
enum class TensorContent { Values, ShapesOnly };

/// Writes the file atomically, with a checksum in its metadata. Tensors may lie on any device and
/// need not be contiguous.
void save_safetensors(const fs::path& path, const TensorFile& file);

/// Maps the file: its numbers are read when they are touched, and the file stays open as long as a
/// tensor of it lives. Tensors come in the order of their bytes. A file that is cut short, damaged
/// or inconsistent throws an `Error`. The checksum of our own files is verified
/// (files of other tools have none) and does not show up in the metadata.
TensorFile load_safetensors(const fs::path& path, TensorContent content);
TensorFile load_safetensors(const fs::path& path);

/// The metadata alone: reads and checks the header, never the tensors.
std::map<std::string, std::string> read_safetensors_metadata(const fs::path& path);

}  // namespace vitrine
