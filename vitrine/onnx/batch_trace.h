#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/onnx/constants.h"
#include "vitrine/onnx/trace.h"

namespace vitrine {

/// A dimension: a number, or that number times the batch size.
struct Size {
  int64_t count = 0;
  bool per_example = false;
  bool operator==(const Size&) const = default;
};
using Shape = std::vector<Size>;

/// A tensor argument of a call at any batch size.
struct Operand {
  enum class Kind { Nothing, Value, Constant, Number };
  Kind kind = Kind::Nothing;
  int64_t index = -1;     // of the value or the constant
  int64_t expanded = -1;  // the dimension along which a constant is repeated for each example
  c10::Scalar number{};   // of an operator's scalar overload
  Shape shape{};
  torch::ScalarType type = torch::kFloat;

  explicit operator bool() const { return kind != Kind::Nothing; }
  int64_t rank() const { return std::ssize(shape); }
};

/// Two traces of one function at two batch sizes, which tell what depends on the batch size.
/// Whatever reads it throws where the traces do not agree on a graph for all batch sizes.
class BatchTrace {
 public:
  /// `constants` must be the pool of both traces.
  BatchTrace(Trace first, Trace second, ConstantPool& constants);

  size_t calls() const { return first_.calls.size(); }
  const Trace& first() const { return first_; }
  const Trace& second() const { return second_; }
  ConstantPool& constants() const { return constants_; }

  Shape shape_of(int64_t value) const;
  torch::ScalarType type_of(int64_t value) const { return first_.values.at(value).type; }
  Operand operand(const TraceTensor& first, const TraceTensor& second, const std::string& op) const;
  Operand output(size_t i) const;
  /// By call, whether an output needs its results.
  std::vector<bool> needed() const;

 private:
  Operand constant_operand(int64_t first, int64_t second, const std::string& op) const;
  int64_t batch(const Trace& trace) const { return trace.values.at(0).shape.at(0); }

  Trace first_, second_;
  ConstantPool& constants_;
};

/// One call of a `BatchTrace`. Arguments are asked for by the names in torch's schema.
class GraphCall {
 public:
  GraphCall(const BatchTrace& traces, size_t index);

  const std::string& op() const { return first_.op; }
  /// Whether there is such an argument and it is not None.
  bool has(const std::string& name) const;
  /// A tensor or a number; nothing if it is None.
  Operand operand(const std::string& name) const;
  std::vector<Operand> operands(const std::string& name) const;
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  bool flag(const std::string& name) const;
  bool is_text(const std::string& name) const { return plain(name).isString(); }
  std::string text(const std::string& name) const;
  std::vector<int64_t> integers(const std::string& name) const;
  /// An argument that is a dimension of something of this rank, from 0.
  int64_t dimension(const std::string& name, int64_t rank) const;
  std::vector<int64_t> dimensions(const std::string& name, int64_t rank) const;

  size_t results() const { return first_.results.size(); }
  int64_t result(size_t i) const { return first_.results.at(i); }
  Shape result_shape(size_t i = 0) const { return traces_.shape_of(result(i)); }
  torch::ScalarType result_type(size_t i = 0) const { return traces_.type_of(result(i)); }

  /// Throws an `Error` that names the operator.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const TraceArgument* find(const TraceCall& call, const std::string& name) const;
  /// The same in both traces; throws if not.
  const c10::IValue& plain(const std::string& name) const;

  const BatchTrace& traces_;
  const TraceCall &first_, &second_;
};

}  // namespace vitrine
