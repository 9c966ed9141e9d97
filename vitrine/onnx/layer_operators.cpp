#include "vitrine/onnx/operators.h"

// Matrix products and the layers of torch::nn.

namespace vitrine {
namespace {

using Names = std::vector<std::string>;

Names linear(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("input"), weight = c.operand("weight"), bias = c.operand("bias");
  if (x.rank() == 2)
    return {e.node("Gemm", {e.name(x), e.name(weight), e.name(bias)}, {{"transB", int64_t{1}}})};
  const auto product = e.node("MatMul", {e.name(x), e.transposed(weight)});
  return {bias ? e.node("Add", {product, e.name(bias)}) : product};
}

EmitCall product(const std::string& other) {
  return [other](Emitter& e, const GraphCall& c) -> Names {
    return {e.node("MatMul", {e.name(c.operand("self")), e.name(c.operand(other))})};
  };
}

/// beta * self + alpha * first second
EmitCall product_and_sum(const std::string& first, const std::string& second) {
  return [=](Emitter& e, const GraphCall& c) -> Names {
    const auto type = c.result_type();
    const auto scaled = [&](const std::string& x, const char* by) {
      return c.number(by) == 1 ? x : e.node("Mul", {x, e.number(c.number(by), type)});
    };
    const auto made = e.node("MatMul", {e.name(c.operand(first)), e.name(c.operand(second))});
    return {e.node("Add", {scaled(made, "alpha"), scaled(e.name(c.operand("self")), "beta")})};
  };
}

Names layer_norm(Emitter& e, const GraphCall& c) {
  const auto shape = c.integers("normalized_shape");
  const auto scale = c.operand("weight");
  return {
      e.node("LayerNormalization",
             {e.name(c.operand("input")), scale ? e.name(scale) : e.constant(torch::ones(shape)),
              e.name(c.operand("bias"))},
             {{"axis", -std::ssize(shape)}, {"epsilon", static_cast<float>(c.number("eps"))}})};
}

Names batch_norm(Emitter& e, const GraphCall& c) {
  if (c.flag("training"))
    c.refuse("it takes the statistics of the batch; the model is in training");
  const auto channels = c.operand("input").shape.at(1).count;
  const auto given = [&](const char* name, double otherwise) {
    const auto found = c.operand(name);
    return found ? e.name(found) : e.constant(torch::full({channels}, otherwise));
  };
  return {e.node("BatchNormalization",
                 {e.name(c.operand("input")), given("weight", 1), given("bias", 0),
                  given("running_mean", 0), given("running_var", 1)},
                 {{"epsilon", static_cast<float>(c.number("eps"))}})};
}

/// Per group of channels: InstanceNormalization over (B, groups, the rest).
Names group_norm(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("input");
  const auto groups = c.integer("num_groups"), channels = x.shape.at(1).count;
  const auto grouped = e.node("Reshape", {e.name(x), e.integers({0, groups, -1})});
  const auto normed =
      e.node("InstanceNormalization",
             {grouped, e.constant(torch::ones({groups})), e.constant(torch::zeros({groups}))},
             {{"epsilon", static_cast<float>(c.number("eps"))}});
  auto made = e.reshape(normed, x.shape);
  Shape per_channel(x.shape.size() - 1, Size{1, false});  // broadcast over the batch
  per_channel[0].count = channels;
  const auto of_channels = [&](const char* name) {
    return e.reshape(e.name(c.operand(name)), per_channel);
  };
  if (c.has("weight")) made = e.node("Mul", {made, of_channels("weight")});
  if (c.has("bias")) made = e.node("Add", {made, of_channels("bias")});
  return {made};
}

/// An argument that is one number for all spatial dimensions or one for each.
std::vector<int64_t> spatial(const GraphCall& c, const std::string& name, int64_t dimensions) {
  auto values = c.integers(name);
  if (std::ssize(values) == 1) values.assign(dimensions, values[0]);
  return values;
}

/// The same at the beginning and the end of each dimension.
std::vector<int64_t> both_ends(std::vector<int64_t> padding) {
  const auto ends = padding;
  padding.insert(padding.end(), ends.begin(), ends.end());
  return padding;
}

Names convolution(Emitter& e, const GraphCall& c) {
  const auto weight = c.operand("weight");
  const auto n = weight.rank() - 2;
  if (c.has("transposed") && c.flag("transposed")) c.refuse("it is a transposed convolution");
  if (c.operand("input").rank() != weight.rank()) c.refuse("the input has no batch dimension");
  OnnxAttributes attributes = {{"strides", spatial(c, "stride", n)},
                               {"dilations", spatial(c, "dilation", n)},
                               {"group", c.integer("groups")}};
  if (c.is_text("padding"))
    attributes.push_back(
        {"auto_pad", std::string(c.text("padding") == "same" ? "SAME_UPPER" : "VALID")});
  else
    attributes.push_back({"pads", both_ends(spatial(c, "padding", n))});
  return {e.node("Conv", {e.name(c.operand("input")), e.name(weight), e.name(c.operand("bias"))},
                 attributes)};
}

/// The numbers of each window, channel by channel: a convolution whose kernels pick one each.
Names im2col(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  if (x.rank() != 4) c.refuse("the input has no batch dimension");
  const auto kernel = spatial(c, "kernel_size", 2);
  const auto channels = x.shape.at(1).count, cells = kernel[0] * kernel[1];
  const auto picks = torch::eye(cells).view({cells, 1, kernel[0], kernel[1]});
  const auto windows = e.node("Conv", {e.name(x), e.constant(picks.repeat({channels, 1, 1, 1}))},
                              {{"strides", spatial(c, "stride", 2)},
                               {"dilations", spatial(c, "dilation", 2)},
                               {"group", channels},
                               {"pads", both_ends(spatial(c, "padding", 2))}});
  return {e.node("Reshape", {windows, e.integers({0, channels * cells, -1})})};
}

OnnxAttributes pooling(const GraphCall& c, int64_t dimensions) {
  const auto kernel = spatial(c, "kernel_size", dimensions);
  const bool strided = c.has("stride") && !c.integers("stride").empty();
  return {{"kernel_shape", kernel},
          {"strides", strided ? spatial(c, "stride", dimensions) : kernel},
          {"pads", both_ends(spatial(c, "padding", dimensions))},
          {"ceil_mode", int64_t{c.flag("ceil_mode")}}};
}

Names max_pool(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  auto attributes = pooling(c, x.rank() - 2);
  attributes.push_back({"dilations", spatial(c, "dilation", x.rank() - 2)});
  return {e.node("MaxPool", {e.name(x)}, attributes)};
}

Names average_pool(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  if (c.has("divisor_override")) c.refuse("divisor_override is set");
  auto attributes = pooling(c, x.rank() - 2);
  attributes.push_back({"count_include_pad", int64_t{c.flag("count_include_pad")}});
  return {e.node("AveragePool", {e.name(x)}, attributes)};
}

Names adaptive_average_pool(Emitter& e, const GraphCall& c) {
  const auto x = c.operand("self");
  const auto n = x.rank() - 2;
  const auto out = spatial(c, "output_size", n);
  std::vector<int64_t> kernel;
  for (int64_t i = 0; i < n; ++i) {
    const auto size = x.shape.at(i + 2).count;
    if (size % out[i] != 0) c.refuse("the output's sides do not divide the input's");
    kernel.push_back(size / out[i]);
  }
  return {e.node("AveragePool", {e.name(x)}, {{"kernel_shape", kernel}, {"strides", kernel}})};
}

}  // namespace

OperatorTable layer_operators() {
  return {
      {"aten::adaptive_avg_pool2d", adaptive_average_pool},
      {"aten::addmm", product_and_sum("mat1", "mat2")},
      {"aten::avg_pool2d", average_pool},
      {"aten::baddbmm", product_and_sum("batch1", "batch2")},
      {"aten::batch_norm", batch_norm},
      {"aten::bmm", product("mat2")},
      {"aten::conv1d", convolution},
      {"aten::conv2d", convolution},
      {"aten::convolution", convolution},
      {"aten::group_norm", group_norm},
      {"aten::im2col", im2col},
      {"aten::layer_norm", layer_norm},
      {"aten::linear", linear},
      {"aten::matmul", product("other")},
      {"aten::max_pool2d", max_pool},
      {"aten::mm", product("mat2")},
  };
}

const OperatorTable& operator_table() {
  static const auto table = [] {
    auto all = layer_operators();
    all.merge(arithmetic_operators());
    all.merge(shape_operators());
    return all;
  }();
  return table;
}

}  // namespace vitrine
