#include <algorithm>
#include <numeric>

#include "vitrine/onnx/operators.h"

// Operators that move elements without computing with them.

namespace vitrine {
namespace {

using Names = std::vector<std::string>;

/// In ONNX it is the value itself, or at most a change of type.
Names unchanged(Emitter& e, const GraphCall& c) {
  return {e.as(c.operand("self"), c.result_type())};
}

/// view, flatten, squeeze, ...: the same elements in the shape of the result.
Names reshaped(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  if (x.shape == c.result_shape()) return {e.name(x)};
  return {e.reshape(e.name(x), c.result_shape())};
}

Names expanded(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  if (x.shape == c.result_shape()) return {e.name(x)};
  return {e.node("Expand", {e.name(x), e.shape(c.result_shape())})};
}

Names repeated(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  Shape padded(c.result_shape().size() - x.shape.size(), Size{1, false});
  padded.insert(padded.end(), x.shape.begin(), x.shape.end());
  const auto source = padded == x.shape ? e.name(x) : e.reshape(e.name(x), padded);
  return {e.node("Tile", {source, e.integers(c.integers("repeats"))})};
}

Names permuted(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  return {e.node("Transpose", {e.name(x)}, {{"perm", c.dimensions("dims", x.rank())}})};
}

Names swapped(Emitter& e, const Operand& x, int64_t a, int64_t b) {
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[a], order[b]);
  return {e.node("Transpose", {e.name(x)}, {{"perm", order}})};
}

Names transposed(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  return swapped(e, x, c.dimension("dim0", x.rank()), c.dimension("dim1", x.rank()));
}

Names matrix_transposed(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  return x.rank() < 2 ? Names{e.name(x)} : swapped(e, x, x.rank() - 2, x.rank() - 1);
}

std::string slice(Emitter& e, const std::string& x, int64_t dim, int64_t begin, int64_t end,
                  int64_t step = 1) {
  return e.node("Slice",
                {x, e.integers({begin}), e.integers({end}), e.integers({dim}), e.integers({step})});
}

/// The size of a dimension that must not be the batch's.
int64_t fixed_size(const GraphCall& c, const Operand& x, int64_t dim) {
  const auto size = x.shape.at(dim);
  if (size.per_example) c.refuse("it picks some examples of a batch");
  return size.count;
}

Names narrowed(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  if (x.shape == c.result_shape()) return {e.name(x)};
  const auto dim = c.dimension("dim", x.rank()), size = fixed_size(c, x, dim);
  auto start = c.integer("start");
  if (start < 0) start += size;
  return {slice(e, e.name(x), dim, start, start + c.integer("length"))};
}

Names sliced(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  if (x.shape == c.result_shape()) return {e.name(x)};
  const auto dim = c.dimension("dim", x.rank()), size = fixed_size(c, x, dim);
  const auto place = [&](const char* name, int64_t otherwise) {
    const auto at = c.has(name) ? c.integer(name) : otherwise;
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  return {slice(e, e.name(x), dim, place("start", 0), place("end", size), c.integer("step"))};
}

std::string picked(Emitter& e, const std::string& x, int64_t dim, int64_t index) {
  return e.node("Gather", {x, e.number(index, torch::kLong)}, {{"axis", dim}});
}

Names selected(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  const auto dim = c.dimension("dim", x.rank()), size = fixed_size(c, x, dim);
  const auto index = c.integer("index");
  return {picked(e, e.name(x), dim, index < 0 ? index + size : index)};
}

Names unbound(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  const auto dim = c.dimension("dim", x.rank()), size = fixed_size(c, x, dim);
  Names made;
  for (int64_t i = 0; i < size; ++i) made.push_back(picked(e, e.name(x), dim, i));
  return made;
}

/// split, chunk, ...: into parts of the sizes that the results have.
Names split(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  const auto dim = c.dimension("dim", x.rank());
  fixed_size(c, x, dim);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < c.results(); ++i) sizes.push_back(c.result_shape(i).at(dim).count);
  return e.nodes("Split", {e.name(x), e.integers(sizes)}, {{"axis", dim}}, c.results());
}

Names concatenated(Emitter& e, const GraphCall& c) {
  Names parts;
  for (const auto& part : c.operands("tensors")) parts.push_back(e.as(part, c.result_type()));
  const auto rank = std::ssize(c.result_shape());
  return {e.node("Concat", parts, {{"axis", c.dimension("dim", rank)}})};
}

Names stacked(Emitter& e, const GraphCall& c) {
  const auto dim = c.dimension("dim", std::ssize(c.result_shape()));
  Names parts;
  for (const auto& part : c.operands("tensors"))
    parts.push_back(e.node("Unsqueeze", {e.as(part, c.result_type()), e.integers({dim})}));
  return {e.node("Concat", parts, {{"axis", dim}})};
}

Names rolled(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  const auto shifts = c.integers("shifts"), dims = c.dimensions("dims", x.rank());
  if (dims.size() != shifts.size()) c.refuse("no dims are given");
  auto name = e.name(x);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto size = fixed_size(c, x, dims[i]);
    const auto first = ((size - shifts[i]) % size + size) % size;  // what comes to the front
    if (first == 0) continue;
    name =
        e.node("Concat", {slice(e, name, dims[i], first, size), slice(e, name, dims[i], 0, first)},
               {{"axis", dims[i]}});
  }
  return {name};
}

/// `pad` is torch's: begin and end of the last dimension, then of the one before it, and so on.
std::string padded(Emitter& e, const GraphCall& c, const std::string& value) {
  const auto x = c.operand("self");
  const auto pad = c.integers("pad");
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> pads(2 * rank);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const auto d = rank - 1 - i;
    pads[d] = pad[2 * i];
    pads[rank + d] = pad[2 * i + 1];
  }
  return e.node("Pad", {e.name(x), e.integers(pads), value}, {{"mode", std::string("constant")}});
}

Names constant_padded(Emitter& e, const GraphCall& c) {
  return {padded(e, c, c.has("value") ? e.as(c.operand("value"), c.result_type()) : "")};
}

Names pad(Emitter& e, const GraphCall& c) {
  if (c.text("mode") != "constant") c.refuse("only the mode constant is known");
  return constant_padded(e, c);
}

Names index_selected(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  return {e.node("Gather", {e.name(x), e.as(c.operand("index"), torch::kLong)},
                 {{"axis", c.dimension("dim", x.rank())}})};
}

Names gathered(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  return {e.node("GatherElements", {e.name(x), e.name(c.operand("index"))},
                 {{"axis", c.dimension("dim", x.rank())}})};
}

/// x[:, index]: one tensor of indices, whole dimensions otherwise.
Names indexed(Emitter& e, const GraphCall& c) {
  const auto indices = c.operands("indices");
  const auto is_given = [](const Operand& o) { return static_cast<bool>(o); };
  if (std::count_if(indices.begin(), indices.end(), is_given) != 1)
    c.refuse("more than one dimension is indexed by a tensor");
  const auto found = std::find_if(indices.begin(), indices.end(), is_given);
  if (found->type == torch::kBool) c.refuse("it picks elements by truth values");
  return {e.node("Gather", {e.name(c.operand("self")), e.as(*found, torch::kLong)},
                 {{"axis", static_cast<int64_t>(found - indices.begin())}})};
}

Names embedded(Emitter& e, const GraphCall& c) {
  return {e.node("Gather", {e.name(c.operand("weight")), e.name(c.operand("indices"))},
                 {{"axis", int64_t{0}}})};
}

EmitCall filled(double value) {
  return [value](Emitter& e, const GraphCall& c) -> Names {
    return {e.node("Expand", {e.number(value, c.result_type()), e.shape(c.result_shape())})};
  };
}

Names filled_with(Emitter& e, const GraphCall& c) {
  return {e.node("Expand",
                 {e.as(c.operand("fill_value"), c.result_type()), e.shape(c.result_shape())})};
}

EmitCall triangle(int64_t upper) {
  return [upper](Emitter& e, const GraphCall& c) -> Names {
    return {e.node("Trilu",
                   {e.name(c.operand("self")), e.number(c.integer("diagonal"), torch::kLong)},
                   {{"upper", upper}})};
  };
}

}  // namespace

OperatorTable shape_operators() {
  return {
      {"aten::cat", concatenated},
      {"aten::chunk", split},
      {"aten::clone", unchanged},
      {"aten::constant_pad_nd", constant_padded},
      {"aten::contiguous", unchanged},
      {"aten::detach", unchanged},
      {"aten::embedding", embedded},
      {"aten::expand", expanded},
      {"aten::expand_as", expanded},
      {"aten::flatten", reshaped},
      {"aten::full_like", filled_with},
      {"aten::gather", gathered},
      {"aten::index", indexed},
      {"aten::index_select", index_selected},
      {"aten::mT", matrix_transposed},
      {"aten::narrow", narrowed},
      {"aten::new_full", filled_with},
      {"aten::new_ones", filled(1)},
      {"aten::new_zeros", filled(0)},
      {"aten::ones_like", filled(1)},
      {"aten::pad", pad},
      {"aten::permute", permuted},
      {"aten::repeat", repeated},
      {"aten::reshape", reshaped},
      {"aten::reshape_as", reshaped},
      {"aten::roll", rolled},
      {"aten::select", selected},
      {"aten::slice", sliced},
      {"aten::split", split},
      {"aten::split_with_sizes", split},
      {"aten::squeeze", reshaped},
      {"aten::stack", stacked},
      {"aten::t", matrix_transposed},
      {"aten::to", unchanged},
      {"aten::transpose", transposed},
      {"aten::tril", triangle(0)},
      {"aten::triu", triangle(1)},
      {"aten::type_as", unchanged},
      {"aten::unbind", unbound},
      {"aten::unflatten", reshaped},
      {"aten::unsqueeze", reshaped},
      {"aten::view", reshaped},
      {"aten::view_as", reshaped},
      {"aten::zeros_like", filled(0)},
  };
}

}  // namespace vitrine
