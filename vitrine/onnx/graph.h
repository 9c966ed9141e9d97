#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vitrine {

/// Types of elements, by their numbers in the ONNX format (TensorProto.DataType).
enum class OnnxType : int32_t {
  Float = 1,
  Int8 = 3,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Double = 11,
  BFloat16 = 16
};

/// A constant of the graph. The bytes are those of a contiguous tensor.
struct OnnxTensor {
  std::string name;
  OnnxType type = OnnxType::Float;
  std::vector<int64_t> shape;
  std::shared_ptr<const void> data;
  size_t bytes = 0;
};

using OnnxAttribute = std::variant<int64_t, float, std::string, std::vector<int64_t>>;
using OnnxAttributes = std::vector<std::pair<std::string, OnnxAttribute>>;

/// One operation of operator set 17. An input "" is an optional one that is left out.
struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  OnnxAttributes attributes;
};

/// An input or output of the graph. The dimension kOnnxBatch is the batch size, known at run time.
struct OnnxValue {
  std::string name;
  OnnxType type = OnnxType::Float;
  std::vector<int64_t> shape;
};
inline constexpr int64_t kOnnxBatch = -1;

/// A network as ONNX describes it, free of torch and of protocol buffers.
struct OnnxGraph {
  std::string name;
  std::vector<OnnxValue> inputs{}, outputs{};
  std::vector<OnnxNode> nodes{};  // each after those whose outputs it reads
  std::vector<OnnxTensor> constants{};
  std::map<std::string, std::string> metadata{};
};

}  // namespace vitrine
