#include "vitrine/onnx/lower_precision.h"

#include <torch/torch.h>

#include <algorithm>
#include <set>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

OnnxTensor constant_of(const std::string& name, OnnxType type, const torch::Tensor& t) {
  const auto owner = std::make_shared<torch::Tensor>(t.contiguous());
  return {.name = name,
          .type = type,
          .shape = t.sizes().vec(),
          .data = {owner, owner->data_ptr()},
          .bytes = static_cast<size_t>(t.nbytes())};
}

torch::Tensor matrix_of(const OnnxTensor& constant) {
  const auto w = torch::from_blob(const_cast<void*>(constant.data.get()), constant.shape);
  check(w.isfinite().all().item<bool>(),
        "onnx: '{}' has numbers that are not finite, which a lower precision cannot hold; export "
        "in fp32",
        constant.name);
  return w;
}

bool is_matrix(const OnnxTensor& constant) {
  return constant.type == OnnxType::Float && constant.shape.size() == 2;
}

/// The product of one kind of matrices, in place of MatMul nodes.
class Lowering {
 public:
  Lowering(OnnxGraph& graph, Precision precision) : graph_(graph), precision_(precision) {
    for (const auto& constant : graph.constants)
      if (is_matrix(constant)) matrices_[constant.name] = &constant;
  }

  /// How many products were lowered.
  int64_t run() {
    int64_t lowered = 0;
    for (auto& node : graph_.nodes) {
      if (node.op == "MatMul" && matrices_.contains(node.inputs.at(1))) {
        precision_ == Precision::Int8 ? as_int8(node) : as_bf16(node);
        ++lowered;
      } else {
        for (const auto& input : node.inputs) kept_.insert(input);
        nodes_.push_back(std::move(node));
      }
    }
    graph_.nodes = std::move(nodes_);
    std::erase_if(graph_.constants, [&](const OnnxTensor& constant) {
      return done_.contains(constant.name) && !kept_.contains(constant.name);
    });
    for (auto& constant : constants_) graph_.constants.push_back(std::move(constant));
    return lowered;
  }

 private:
  void add(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
           OnnxAttributes attributes = {}) {
    nodes_.push_back({std::move(op), std::move(inputs), std::move(outputs), std::move(attributes)});
  }
  void cast(const std::string& from, const std::string& to) {
    add("Cast", {from}, {to}, {{"to", static_cast<int64_t>(OnnxType::Float)}});
  }

  void as_int8(const OnnxNode& node) {
    constexpr double kMost = 127;
    const auto &x = node.inputs[0], &w = node.inputs[1], &y = node.outputs[0];
    if (done_.insert(w).second) {
      const auto matrix = matrix_of(*matrices_.at(w));  // (inputs, outputs)
      const auto scale = matrix.abs().amax(0).clamp_min(std::numeric_limits<float>::min()) / kMost;
      constants_.push_back(
          constant_of(w + "_int8", OnnxType::Int8, (matrix / scale).round().to(torch::kChar)));
      constants_.push_back(constant_of(w + "_scale", OnnxType::Float, scale));
    }
    if (quantized_.insert(x).second)
      add("DynamicQuantizeLinear", {x}, {x + "_uint8", x + "_scale", x + "_zero"});
    add("MatMulInteger", {x + "_uint8", w + "_int8", x + "_zero"}, {y + "_sum"});
    cast(y + "_sum", y + "_float");
    add("Mul", {x + "_scale", w + "_scale"}, {y + "_scales"});
    add("Mul", {y + "_float", y + "_scales"}, {y});
  }

  void as_bf16(const OnnxNode& node) {
    const auto& w = node.inputs[1];
    if (done_.insert(w).second) {
      const auto rounded = matrix_of(*matrices_.at(w)).to(torch::kBFloat16);
      constants_.push_back(constant_of(w + "_bf16", OnnxType::BFloat16, rounded));
      cast(w + "_bf16", w + "_rounded");
    }
    add(node.op, {node.inputs[0], w + "_rounded"}, node.outputs, node.attributes);
  }

  OnnxGraph& graph_;
  Precision precision_;
  std::map<std::string, const OnnxTensor*> matrices_;
  std::set<std::string> done_, kept_, quantized_;  // matrices; inputs of other nodes; factors
  std::vector<OnnxNode> nodes_;
  std::vector<OnnxTensor> constants_;
};

}  // namespace

void lower_precision(OnnxGraph& graph, Precision precision) {
  if (precision == Precision::Float32) return;
  check(Lowering(graph, precision).run() > 0,
        "onnx: {} has no products with constant matrices, and convolutions stay in fp32; export "
        "without --precision",
        graph.name);
}

}  // namespace vitrine
