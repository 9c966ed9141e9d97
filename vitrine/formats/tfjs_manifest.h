#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

/// A tensor as the model.json of TensorFlow.js describes it.
struct TfjsTensor {
  std::string name;
  std::string dtype;  // of the stored numbers: "float32", "uint8"
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  bool quantised = false;  // the number is that stored (a half as it is) times scale plus min
  double scale = 1, min = 0;
};

/// Tensors that follow each other in the same files.
struct TfjsGroup {
  std::vector<std::string> files;  // names beside model.json
  std::vector<TfjsTensor> tensors;
};

/// Reads the text of a model.json, which errors call `where`. Names come once, files are names, and
/// shapes are sizes; whether the files hold so many bytes is not checked.
std::vector<TfjsGroup> parse_tfjs_manifest(std::string_view text, const std::string& where);

}  // namespace vitrine
