#include "vitrine/onnx/batch_trace.h"

#include <fmt/ranges.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

[[noreturn]] void fail_for_batch(const std::string& op, const std::string& what) {
  fail("onnx: {} of {} depends on the batch size in a way that a graph cannot express", what, op);
}

bool same_structure(const TraceCall& a, const TraceCall& b) {
  if (a.op != b.op || a.results != b.results || a.arguments.size() != b.arguments.size())
    return false;
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    const auto &x = a.arguments[i].tensors, &y = b.arguments[i].tensors;
    if (x.size() != y.size()) return false;
    for (size_t k = 0; k < x.size(); ++k) {
      if (x[k].kind != y[k].kind) return false;
      if (x[k].kind == TraceTensor::Kind::Value && x[k].index != y[k].index) return false;
    }
  }
  return true;
}

}  // namespace

BatchTrace::BatchTrace(Trace first, Trace second, ConstantPool& constants)
    : first_(std::move(first)), second_(std::move(second)), constants_(constants) {
  TORCH_INTERNAL_ASSERT(batch(first_) != batch(second_));
  bool same = first_.calls.size() == second_.calls.size() &&
              first_.outputs.size() == second_.outputs.size();
  for (size_t i = 0; same && i < first_.calls.size(); ++i)
    same = same_structure(first_.calls[i], second_.calls[i]);
  check(same,
        "onnx: the model computes differently for batches of {} and of {}, so there is no one "
        "graph for both",
        batch(first_), batch(second_));
}

Shape BatchTrace::shape_of(int64_t value) const {
  const auto &a = first_.values.at(value).shape, &b = second_.values.at(value).shape;
  const auto A = batch(first_), B = batch(second_);
  Shape shape;
  bool fits = a.size() == b.size();
  for (size_t i = 0; fits && i < a.size(); ++i) {
    const bool fixed = a[i] == b[i];
    fits = fixed || (a[i] % A == 0 && b[i] % B == 0 && a[i] / A == b[i] / B);
    shape.push_back(fixed ? Size{a[i], false} : Size{a[i] / A, true});
  }
  check(fits,
        "onnx: a tensor has the shape {} for a batch of {} and {} for one of {}; a graph cannot "
        "express that",
        fmt::join(a, "x"), A, fmt::join(b, "x"), B);
  return shape;
}

Operand BatchTrace::operand(const TraceTensor& first, const TraceTensor& second,
                            const std::string& op) const {
  switch (first.kind) {
    case TraceTensor::Kind::Nothing:
      return {};
    case TraceTensor::Kind::Value:
      return {.kind = Operand::Kind::Value,
              .index = first.index,
              .shape = shape_of(first.index),
              .type = type_of(first.index)};
    case TraceTensor::Kind::Constant:
      return constant_operand(first.index, second.index, op);
  }
  fail("onnx: an argument of {} is not known", op);
}

Operand BatchTrace::constant_operand(int64_t first, int64_t second, const std::string& op) const {
  const auto a = constants_.tensor(first), b = constants_.tensor(second);
  Operand made{.kind = Operand::Kind::Constant, .index = first, .type = a.scalar_type()};
  for (const auto size : a.sizes()) made.shape.push_back({size, false});
  if (first == second) return made;
  check(a.sizes() != b.sizes(),
        "onnx: {} takes a tensor whose values change from one pass to the next without a torch "
        "operator that computes them from the input; a graph cannot express that",
        op);
  if (a.dim() != b.dim()) fail_for_batch(op, "an argument");
  // A row that is repeated for each example, such as the class token of every image.
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) != batch(first_) || b.size(d) != batch(second_)) continue;
    const auto row = a.narrow(d, 0, 1);
    auto rest = a.sizes().vec(), other = b.sizes().vec();
    rest[d] = other[d] = 1;
    if (rest != other || !row.expand_as(a).equal(a) || !row.expand_as(b).equal(b)) continue;
    made.index = constants_.add(row, constants_.name(first));
    made.expanded = d;
    made.shape[d] = {1, true};
    return made;
  }
  fail_for_batch(op, "a constant argument");
}

Operand BatchTrace::output(size_t i) const {
  return operand(first_.outputs.at(i), second_.outputs.at(i), "the output");
}

std::vector<bool> BatchTrace::needed() const {
  std::vector<bool> values(first_.values.size()), calls(first_.calls.size());
  const auto mark = [&](const TraceTensor& t) {
    if (t.kind == TraceTensor::Kind::Value) values[t.index] = true;
  };
  for (const auto& output : first_.outputs) mark(output);
  for (size_t i = calls.size(); i-- > 0;) {
    for (const auto result : first_.calls[i].results) calls[i] = calls[i] || values[result];
    if (!calls[i]) continue;
    for (const auto& argument : first_.calls[i].arguments)
      for (const auto& t : argument.tensors) mark(t);
  }
  return calls;
}

GraphCall::GraphCall(const BatchTrace& traces, size_t index)
    : traces_(traces),
      first_(traces.first().calls.at(index)),
      second_(traces.second().calls.at(index)) {}

const TraceArgument* GraphCall::find(const TraceCall& call, const std::string& name) const {
  for (const auto& argument : call.arguments)
    if (argument.name == name) return &argument;
  return nullptr;
}

bool GraphCall::has(const std::string& name) const {
  const auto* found = find(first_, name);
  if (found == nullptr) return false;
  if (!found->is_tensor) return !found->plain.isNone();
  return found->is_list || found->tensors.at(0).kind != TraceTensor::Kind::Nothing;
}

const c10::IValue& GraphCall::plain(const std::string& name) const {
  const auto *a = find(first_, name), *b = find(second_, name);
  if (a == nullptr || a->is_tensor) refuse("its argument '" + name + "' is not a plain value");
  if (a->plain != b->plain) fail_for_batch(op(), "argument '" + name + "'");
  return a->plain;
}

Operand GraphCall::operand(const std::string& name) const {
  const auto *a = find(first_, name), *b = find(second_, name);
  if (a == nullptr) return {};
  if (a->is_tensor && !a->is_list) return traces_.operand(a->tensors.at(0), b->tensors.at(0), op());
  const auto& value = plain(name);
  if (value.isNone()) return {};
  if (!value.isScalar()) refuse("its argument '" + name + "' is neither a tensor nor a number");
  const auto number = value.toScalar();
  return {.kind = Operand::Kind::Number, .number = number, .type = number.type()};
}

std::vector<Operand> GraphCall::operands(const std::string& name) const {
  const auto *a = find(first_, name), *b = find(second_, name);
  std::vector<Operand> made;
  if (a == nullptr || !a->is_list) refuse("its argument '" + name + "' is not a list of tensors");
  for (size_t i = 0; i < a->tensors.size(); ++i)
    made.push_back(traces_.operand(a->tensors[i], b->tensors[i], op()));
  return made;
}

int64_t GraphCall::integer(const std::string& name) const { return plain(name).toInt(); }
double GraphCall::number(const std::string& name) const {
  return plain(name).toScalar().toDouble();
}
bool GraphCall::flag(const std::string& name) const { return plain(name).toBool(); }
std::string GraphCall::text(const std::string& name) const { return plain(name).toStringRef(); }

std::vector<int64_t> GraphCall::integers(const std::string& name) const {
  const auto& value = plain(name);
  if (value.isInt()) return {value.toInt()};
  return value.toIntVector();
}

int64_t GraphCall::dimension(const std::string& name, int64_t rank) const {
  return at::maybe_wrap_dim(integer(name), rank);
}

std::vector<int64_t> GraphCall::dimensions(const std::string& name, int64_t rank) const {
  auto made = integers(name);
  for (auto& d : made) d = at::maybe_wrap_dim(d, rank);
  return made;
}

void GraphCall::refuse(const std::string& why) const {
  fail("onnx: the model calls {}, which the export does not know in this form: {}", op(), why);
}

}  // namespace vitrine
