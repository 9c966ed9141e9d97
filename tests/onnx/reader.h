#pragma once

#include <map>
#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine::test {

/// What an ONNX file holds, as libonnx reads it.
struct OnnxFile {
  struct Value {
    std::string name;
    std::vector<std::string> shape;  // "batch", "3", "32", "32"
  };
  int64_t operator_set = 0;
  std::vector<Value> inputs, outputs;
  std::map<std::string, int64_t> operators;  // how often each occurs
  std::vector<std::string> constants;
  std::map<std::string, std::string> metadata;
};

/// Reads the file and runs libonnx's checker on it, which throws for what is not valid.
OnnxFile read_onnx(const fs::path& path);

}  // namespace vitrine::test
