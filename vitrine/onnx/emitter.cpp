#include "vitrine/onnx/emitter.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

struct AttributeText {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return fmt::format("{:a}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<int64_t>& values) const {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
};

std::string text_of(const std::string& op, const std::vector<std::string>& inputs,
                    const OnnxAttributes& attributes) {
  auto text = fmt::format("{}({})", op, fmt::join(inputs, ","));
  for (const auto& [name, value] : attributes)
    text += fmt::format(" {}={}", name, std::visit(AttributeText{}, value));
  return text;
}

std::vector<int64_t> onnx_shape(const Shape& shape, const std::string& name) {
  std::vector<int64_t> made;
  for (const auto& size : shape) {
    check(!size.per_example || size.count == 1,
          "onnx: output '{}' has {} rows per example; a graph's output has one", name, size.count);
    made.push_back(size.per_example ? kOnnxBatch : size.count);
  }
  return made;
}

}  // namespace

OnnxType onnx_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat:
      return OnnxType::Float;
    case torch::kDouble:
      return OnnxType::Double;
    case torch::kInt:
      return OnnxType::Int32;
    case torch::kLong:
      return OnnxType::Int64;
    case torch::kBool:
      return OnnxType::Bool;
    default:
      fail("onnx: tensors of type {} cannot be exported; float is what the export is for",
           c10::toString(type));
  }
}

Emitter::Emitter(const BatchTrace& traces, const std::string& input) : traces_(traces) {
  graph_.inputs.push_back(
      {input, onnx_type(traces.type_of(0)), onnx_shape(traces.shape_of(0), input)});
  set(0, unique(input));
}

std::string Emitter::unique(const std::string& name) {
  auto made = name;
  while (!names_.insert(made).second) made = fmt::format("{}_{}", name, ++counts_[name]);
  return made;
}

std::string Emitter::value_constant(int64_t index) {
  auto& name = constants_[index];
  if (!name.empty()) return name;
  const auto& pool = traces_.constants();
  const auto t = pool.tensor(index);
  name = unique(pool.name(index));
  const auto owner = std::make_shared<torch::Tensor>(t);
  graph_.constants.push_back({name,
                              onnx_type(t.scalar_type()),
                              t.sizes().vec(),
                              {owner, t.data_ptr()},
                              static_cast<size_t>(t.nbytes())});
  return name;
}

std::string Emitter::constant(const torch::Tensor& t, const std::string& name) {
  return value_constant(traces_.constants().add(t, name));
}

std::string Emitter::transposed(const Operand& matrix) {
  const auto& pool = traces_.constants();
  if (matrix.kind == Operand::Kind::Constant && matrix.expanded < 0)
    return constant(pool.tensor(matrix.index).t(), pool.name(matrix.index));
  return node("Transpose", {name(matrix)}, {{"perm", std::vector<int64_t>{1, 0}}});
}

std::string Emitter::number(const c10::Scalar& value, torch::ScalarType type) {
  return constant(torch::full({}, value, type));
}

std::string Emitter::integers(const std::vector<int64_t>& values) {
  return constant(torch::tensor(values, torch::kLong));
}

std::string Emitter::constant_as(int64_t index, torch::ScalarType type) {
  const auto& pool = traces_.constants();
  const auto& t = pool.tensor(index);
  if (t.scalar_type() == type) return value_constant(index);
  return constant(t.to(type), pool.name(index));
}

std::string Emitter::as(const Operand& operand, torch::ScalarType type) {
  std::string made;
  switch (operand.kind) {
    case Operand::Kind::Nothing:
      return "";
    case Operand::Kind::Number:
      return number(operand.number, type);
    case Operand::Kind::Value:
      made = values_.at(operand.index);
      break;
    case Operand::Kind::Constant:
      made = constant_as(operand.index, type);
      return operand.expanded < 0 ? made : node("Expand", {made, shape(operand.shape)});
  }
  if (operand.type == type) return made;
  return node("Cast", {made}, {{"to", static_cast<int64_t>(onnx_type(type))}});
}

std::string Emitter::shape(const Shape& shape) {
  std::vector<std::string> parts;
  std::vector<int64_t> fixed;
  const auto flush = [&] {
    if (!fixed.empty()) parts.push_back(integers(fixed));
    fixed.clear();
  };
  for (const auto& size : shape) {
    if (!size.per_example) {
      fixed.push_back(size.count);
      continue;
    }
    flush();
    const auto batch = node("Shape", {values_.at(0)}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    parts.push_back(size.count == 1 ? batch : node("Mul", {batch, integers({size.count})}));
  }
  if (parts.empty()) return integers(fixed);
  flush();
  return parts.size() == 1 ? parts[0] : node("Concat", parts, {{"axis", int64_t{0}}});
}

std::string Emitter::reshape(const std::string& x, const Shape& shape) {
  constexpr int64_t kTheRest = -1;
  std::vector<int64_t> sizes;
  for (const auto& size : shape) sizes.push_back(size.per_example ? kTheRest : size.count);
  const bool one = std::count(sizes.begin(), sizes.end(), kTheRest) <= 1;
  return node("Reshape", {x, one ? integers(sizes) : this->shape(shape)});
}

std::string Emitter::node(const std::string& op, std::vector<std::string> inputs,
                          OnnxAttributes attributes) {
  return nodes(op, std::move(inputs), std::move(attributes), 1)[0];
}

std::vector<std::string> Emitter::nodes(const std::string& op, std::vector<std::string> inputs,
                                        OnnxAttributes attributes, size_t outputs) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  auto& made = made_[text_of(op, inputs, attributes)];
  if (!made.empty()) return made;
  for (size_t i = 0; i < outputs; ++i) made.push_back(unique(op));
  graph_.nodes.push_back({op, std::move(inputs), made, std::move(attributes)});
  return made;
}

void Emitter::add_output(const Operand& operand, const std::string& name) {
  const auto made = unique(name);
  TORCH_INTERNAL_ASSERT(made == name);
  const auto old = this->name(operand);
  const auto named = [](const std::string& n) {
    return [n](const auto& value) { return value.name == n; };
  };
  const bool computed = std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const auto& n) {
    return std::find(n.outputs.begin(), n.outputs.end(), old) != n.outputs.end();
  });
  if (computed && std::none_of(graph_.outputs.begin(), graph_.outputs.end(), named(old)))
    rename(old, name);
  else
    graph_.nodes.push_back({"Identity", {old}, {name}, {}});
  graph_.outputs.push_back({name, onnx_type(operand.type), onnx_shape(operand.shape, name)});
}

void Emitter::rename(const std::string& from, const std::string& to) {
  for (auto& node : graph_.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(node.outputs.begin(), node.outputs.end(), from, to);
  }
  for (auto& [value, name] : values_)
    if (name == from) name = to;
}

}  // namespace vitrine
