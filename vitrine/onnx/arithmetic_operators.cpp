#include <cmath>
#include <numbers>

#include "vitrine/onnx/operators.h"

// Operators that compute each element from those at the same place of their arguments, and
// reductions.

namespace vitrine {
namespace {

using Names = std::vector<std::string>;

/// The type in which torch compares or computes with both.
torch::ScalarType common_type(const Operand& a, const Operand& b) {
  const auto scalar_of = [](const Operand& tensor, const Operand& number) {
    const bool widens = number.number.isFloatingPoint() && !c10::isFloatingType(tensor.type);
    return widens ? torch::kFloat : tensor.type;
  };
  if (a.kind == Operand::Kind::Number) return scalar_of(b, a);
  if (b.kind == Operand::Kind::Number) return scalar_of(a, b);
  return c10::promoteTypes(a.type, b.type);
}

EmitCall unary(const std::string& op) {
  return [op](Emitter& e, const GraphCall& c) -> Names {
    return {e.node(op, {e.as(c.operand("self"), c.result_type())})};
  };
}

/// On arguments in the type of the result.
EmitCall binary(const std::string& op, const std::string& other = "other") {
  return [op, other](Emitter& e, const GraphCall& c) -> Names {
    const auto type = c.result_type();
    return {e.node(op, {e.as(c.operand("self"), type), e.as(c.operand(other), type)})};
  };
}

/// On arguments in their common type.
EmitCall comparison(const std::string& op, bool negated = false) {
  return [op, negated](Emitter& e, const GraphCall& c) -> Names {
    const auto a = c.operand("self"), b = c.operand("other");
    const auto type = common_type(a, b);
    const auto made = e.node(op, {e.as(a, type), e.as(b, type)});
    return {negated ? e.node("Not", {made}) : made};
  };
}

/// Question about each element in its own type.
EmitCall question(const std::string& op) {
  return [op](Emitter& e, const GraphCall& c) -> Names {
    return {e.node(op, {e.name(c.operand("self"))})};
  };
}

/// On truth values.
EmitCall logical(const std::string& op) {
  return [op](Emitter& e, const GraphCall& c) -> Names {
    if (c.result_type() != torch::kBool) c.refuse("its arguments are not truth values");
    Names inputs = {e.as(c.operand("self"), torch::kBool)};
    if (c.has("other")) inputs.push_back(e.as(c.operand("other"), torch::kBool));
    return {e.node(op, inputs)};
  };
}

/// self + alpha * other, or with the minus sign, or the other way round.
Names sum_of(Emitter& e, const GraphCall& c, const std::string& op, bool reversed) {
  const auto type = c.result_type();
  auto a = e.as(c.operand("self"), type), b = e.as(c.operand("other"), type);
  if (reversed) std::swap(a, b);
  if (c.has("alpha") && c.number("alpha") != 1)
    b = e.node("Mul", {b, e.number(c.number("alpha"), type)});
  return {e.node(op, {a, b})};
}

Names divided(Emitter& e, const GraphCall& c) {
  const auto type = c.result_type();
  const auto a = e.as(c.operand("self"), type), b = e.as(c.operand("other"), type);
  if (!c.has("rounding_mode")) return {e.node("Div", {a, b})};
  if (c.text("rounding_mode") != "floor") c.refuse("rounding_mode is not floor");
  if (c10::isFloatingType(type)) return {e.node("Floor", {e.node("Div", {a, b})})};
  // Mod has the divisor's sign, so nothing is left to round.
  return {e.node("Div", {e.node("Sub", {a, e.node("Mod", {a, b})}), b})};
}

std::string erf_gelu(Emitter& e, const std::string& x, torch::ScalarType type) {
  const auto inner = e.node("Erf", {e.node("Div", {x, e.number(std::numbers::sqrt2, type)})});
  const auto raised = e.node("Add", {inner, e.number(1, type)});
  return e.node("Mul", {e.node("Mul", {x, raised}), e.number(0.5, type)});
}

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
std::string tanh_gelu(Emitter& e, const std::string& x, torch::ScalarType type) {
  const auto cube = e.node("Mul", {x, e.node("Mul", {x, x})});
  const auto inner = e.node("Add", {x, e.node("Mul", {cube, e.number(0.044715, type)})});
  const auto scale = e.number(std::sqrt(2 / std::numbers::pi), type);
  const auto raised =
      e.node("Add", {e.node("Tanh", {e.node("Mul", {inner, scale})}), e.number(1, type)});
  return e.node("Mul", {e.node("Mul", {x, raised}), e.number(0.5, type)});
}

Names gelu(Emitter& e, const GraphCall& c) {
  const auto x = e.name(c.operand("self"));
  const bool tanh = c.has("approximate") && c.text("approximate") == "tanh";
  return {tanh ? tanh_gelu(e, x, c.result_type()) : erf_gelu(e, x, c.result_type())};
}

Names silu(Emitter& e, const GraphCall& c) {
  const auto x = e.name(c.operand("self"));
  return {e.node("Mul", {x, e.node("Sigmoid", {x})})};
}

Names square(Emitter& e, const GraphCall& c) {
  const auto x = e.name(c.operand("self"));
  return {e.node("Mul", {x, x})};
}

Names reciprocal_root(Emitter& e, const GraphCall& c) {
  return {e.node("Reciprocal", {e.node("Sqrt", {e.name(c.operand("self"))})})};
}

Names clamp(Emitter& e, const GraphCall& c) {
  const auto type = c.result_type();
  auto x = e.as(c.operand("self"), type);
  if (c.has("min")) x = e.node("Max", {x, e.as(c.operand("min"), type)});
  if (c.has("max")) x = e.node("Min", {x, e.as(c.operand("max"), type)});
  return {x};
}

Names masked_fill(Emitter& e, const GraphCall& c) {
  const auto type = c.result_type();
  return {e.node("Where", {e.name(c.operand("mask")), e.as(c.operand("value"), type),
                           e.as(c.operand("self"), type)})};
}

Names where(Emitter& e, const GraphCall& c) {
  const auto type = c.result_type();
  return {e.node("Where", {e.as(c.operand("condition"), torch::kBool),
                           e.as(c.operand("self"), type), e.as(c.operand("other"), type)})};
}

/// The dimensions that a reduction sums over: all of them if none is named.
std::vector<int64_t> reduced(const GraphCall& c, int64_t rank) {
  auto dims = c.has("dim") ? c.dimensions("dim", rank) : std::vector<int64_t>{};
  if (dims.empty())
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  return dims;
}

int64_t keeps(const GraphCall& c) { return c.has("keepdim") && c.flag("keepdim") ? 1 : 0; }

/// Those of operator set 17 take their axes as an attribute.
EmitCall reduction(const std::string& op) {
  return [op](Emitter& e, const GraphCall& c) -> Names {
    const auto x = c.operand("self");
    return {e.node(op, {e.as(x, c.result_type())},
                   {{"axes", reduced(c, x.rank())}, {"keepdims", keeps(c)}})};
  };
}

/// ReduceSum alone takes them as an input.
Names sum(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  return {e.node("ReduceSum", {e.as(x, c.result_type()), e.integers(reduced(c, x.rank()))},
                 {{"keepdims", keeps(c)}})};
}

Names norm(Emitter& e, const GraphCall& c) {
  constexpr double kEuclidean = 2;
  if (!c.has("p") || c.number("p") != kEuclidean) c.refuse("only the 2-norm is known");
  return reduction("ReduceL2")(e, c);
}

Names arg_max(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  if (!c.has("dim")) c.refuse("no dim is given");
  return {e.node("ArgMax", {e.name(x)},
                 {{"axis", c.dimension("dim", x.rank())}, {"keepdims", keeps(c)}})};
}

/// A permutation that sorts: the indices of the k = all largest or smallest.
Names arg_sort(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  const auto d = c.dimension("dim", x.rank());
  const auto size = x.shape.at(d);
  if (size.per_example) c.refuse("it sorts the examples of a batch");
  const int64_t largest = c.flag("descending") ? 1 : 0;
  return {e.nodes("TopK", {e.name(x), e.integers({size.count})},
                  {{"axis", d}, {"largest", largest}, {"sorted", int64_t{1}}}, 2)[1]};
}

EmitCall along_dimension(const std::string& op) {
  return [op](Emitter& e, const GraphCall& c) -> Names {
    const auto x = c.operand("self");
    return {e.node(op, {e.as(x, c.result_type())}, {{"axis", c.dimension("dim", x.rank())}})};
  };
}

Names added(Emitter& e, const GraphCall& c) { return sum_of(e, c, "Add", /*reversed=*/false); }
Names subtracted(Emitter& e, const GraphCall& c) { return sum_of(e, c, "Sub", /*reversed=*/false); }
Names subtracted_from(Emitter& e, const GraphCall& c) {
  return sum_of(e, c, "Sub", /*reversed=*/true);
}

}  // namespace

OperatorTable arithmetic_operators() {
  return {
      {"aten::abs", unary("Abs")},
      {"aten::add", added},
      {"aten::amax", reduction("ReduceMax")},
      {"aten::amin", reduction("ReduceMin")},
      {"aten::argmax", arg_max},
      {"aten::argsort", arg_sort},
      {"aten::bitwise_and", logical("And")},
      {"aten::bitwise_not", logical("Not")},
      {"aten::bitwise_or", logical("Or")},
      {"aten::clamp", clamp},
      {"aten::clamp_max", clamp},
      {"aten::clamp_min", clamp},
      {"aten::cos", unary("Cos")},
      {"aten::div", divided},
      {"aten::eq", comparison("Equal")},
      {"aten::exp", unary("Exp")},
      {"aten::ge", comparison("GreaterOrEqual")},
      {"aten::gelu", gelu},
      {"aten::gt", comparison("Greater")},
      {"aten::isinf", question("IsInf")},
      {"aten::isnan", question("IsNaN")},
      {"aten::le", comparison("LessOrEqual")},
      {"aten::log", unary("Log")},
      {"aten::log_softmax", along_dimension("LogSoftmax")},
      {"aten::logical_and", logical("And")},
      {"aten::logical_not", logical("Not")},
      {"aten::logical_or", logical("Or")},
      {"aten::lt", comparison("Less")},
      {"aten::masked_fill", masked_fill},
      {"aten::maximum", binary("Max")},
      {"aten::mean", reduction("ReduceMean")},
      {"aten::minimum", binary("Min")},
      {"aten::mul", binary("Mul")},
      {"aten::ne", comparison("Equal", /*negated=*/true)},
      {"aten::neg", unary("Neg")},
      {"aten::norm", norm},
      {"aten::pow", binary("Pow", "exponent")},
      {"aten::relu", unary("Relu")},
      {"aten::rsqrt", reciprocal_root},
      {"aten::rsub", subtracted_from},
      {"aten::sigmoid", unary("Sigmoid")},
      {"aten::silu", silu},
      {"aten::sin", unary("Sin")},
      {"aten::softmax", along_dimension("Softmax")},
      {"aten::sqrt", unary("Sqrt")},
      {"aten::square", square},
      {"aten::sub", subtracted},
      {"aten::sum", sum},
      {"aten::tanh", unary("Tanh")},
      {"aten::where", where},
  };
}

}  // namespace vitrine
