#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "vitrine/onnx/constants.h"

namespace vitrine {

/// A tensor as a trace knows it: nothing (an optional argument left out), a value that depends on
/// the input, or a constant of the pool.
struct TraceTensor {
  enum class Kind { Nothing, Value, Constant };
  Kind kind = Kind::Nothing;
  int64_t index = -1;
};

/// An argument of a call: a tensor, a list of tensors, or anything else.
struct TraceArgument {
  std::string name;
  bool is_tensor = false, is_list = false;
  std::vector<TraceTensor> tensors{};
  c10::IValue plain{};
};

/// A call of a torch operator on something that depends on the input.
struct TraceCall {
  std::string op;  // "aten::add"
  std::vector<TraceArgument> arguments;
  std::vector<int64_t> results;  // values
};

struct TraceValue {
  std::vector<int64_t> shape;
  torch::ScalarType type;
};

/// What a function computed of its input, by the torch operators that it called itself.
struct Trace {
  std::vector<TraceValue> values;  // the first is the input
  std::vector<TraceCall> calls;    // in their order
  std::vector<TraceTensor> outputs;
};

using TracedFunction = std::function<std::vector<torch::Tensor>(const torch::Tensor&)>;

/// Runs `f`, whose own ops take their plain-torch references meanwhile, and notes its calls. What
/// does not depend on the input is computed and becomes a constant. Throws where a call writes to a
/// tensor or reads numbers that depend on the input.
Trace trace_calls(const TracedFunction& f, const torch::Tensor& input, ConstantPool& constants);

}  // namespace vitrine
