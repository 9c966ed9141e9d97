#pragma once

#include "vitrine/models/model.h"
#include "vitrine/onnx/graph.h"
#include "vitrine/onnx/trace.h"

namespace vitrine {

/// A function as a graph for batches of any size: it is traced with two inputs, which differ in
/// their first dimension only. `owner` knows the names of its constants. Outputs are named in
/// order.
OnnxGraph graph_of(const torch::nn::Module& owner, const TracedFunction& f,
                   const torch::Tensor& first, const torch::Tensor& second,
                   const std::string& input, const std::vector<std::string>& outputs);

/// The forward pass in evaluation mode; with `attention` the weights of each layer that records
/// them (`AttentionCapture`) are the outputs `attention_0`, `attention_1`, ...
OnnxGraph model_graph(Model& model, bool attention);

}  // namespace vitrine
