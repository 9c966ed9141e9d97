#pragma once

#include <torch/torch.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "vitrine/onnx/batch_trace.h"
#include "vitrine/onnx/graph.h"

namespace vitrine {

/// Throws for types that the export does not know.
OnnxType onnx_type(torch::ScalarType type);

/// Builds an `OnnxGraph` node by node. A node that is asked for twice is made once.
class Emitter {
 public:
  /// `input` names the value that depends on the batch, which is the trace's first.
  Emitter(const BatchTrace& traces, const std::string& input);

  /// The name of an operand in the graph, as elements of `type`.
  std::string as(const Operand& operand, torch::ScalarType type);
  /// The same in its own type.
  std::string name(const Operand& operand) { return as(operand, operand.type); }
  std::string constant(const torch::Tensor& t, const std::string& name = "");
  /// A matrix with rows and columns swapped; a constant one is swapped here and keeps its name.
  std::string transposed(const Operand& matrix);
  std::string number(const c10::Scalar& value, torch::ScalarType type);
  std::string integers(const std::vector<int64_t>& values);
  /// A shape as a list of integers that is computed where it depends on the batch size.
  std::string shape(const Shape& shape);
  std::string reshape(const std::string& x, const Shape& shape);

  /// Adds a node of one output, or of `outputs`; returns their names.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   OnnxAttributes attributes = {});
  std::vector<std::string> nodes(const std::string& op, std::vector<std::string> inputs,
                                 OnnxAttributes attributes, size_t outputs);

  /// Says what the graph calls a value of the trace.
  void set(int64_t value, const std::string& name) { values_[value] = name; }
  /// Makes `operand` the graph's next output. After the last node.
  void add_output(const Operand& operand, const std::string& name);
  OnnxGraph finish() { return std::move(graph_); }

 private:
  std::string unique(const std::string& name);
  std::string value_constant(int64_t index);
  std::string constant_as(int64_t index, torch::ScalarType type);
  void rename(const std::string& from, const std::string& to);

  const BatchTrace& traces_;
  OnnxGraph graph_;
  std::map<int64_t, std::string> values_, constants_;
  std::map<std::string, std::vector<std::string>> made_;  // outputs by what a node computes
  std::set<std::string> names_;
  std::map<std::string, int64_t> counts_;
};

}  // namespace vitrine
