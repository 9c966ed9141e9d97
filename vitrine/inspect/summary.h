#pragma once

// What a network is made of, found by watching one forward pass.
//
// Multiply-adds follow fvcore: a matrix product or convolution counts one per multiply-and-add
// (biases not counted), LayerNorm and GroupNorm 5 per element (4 without weights), BatchNorm in
// evaluation 2 (1), everything else 0.

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine {

class Model;
class ModelChoice;

struct LayerSummary {
  std::string name;  // "blocks.0.attn.qkv": the owner of the weights, or a place beside it
  std::string kind;  // "Linear"; "Parameter" for one that no layer owns
  std::vector<int64_t> input, output;
  int64_t parameters = 0;
  int64_t multiply_adds = 0;
  int64_t heads = 0, keys = 0;  // of attention: heads, and tokens that a query may attend to
};

struct ModelSummary {
  std::vector<LayerSummary> layers;  // in the order of the forward pass
  std::vector<int64_t> input;        // the example's shape: (1, channels, image, image)
  int64_t parameters = 0, trainable = 0;
  int64_t multiply_adds = 0;
  // Bytes for one example.
  int64_t input_bytes = 0;
  int64_t pass_bytes = 0;  // every layer's output, twice: its value and its gradient
  int64_t parameter_bytes = 0;
};

/// Runs `example_input(1)` through the model, in evaluation mode and on the model's device.
ModelSummary summarize(Model& model);
/// The same without weights: any size of network takes milliseconds.
ModelSummary summarize(const ModelChoice& choice);

/// An aligned table of the layers, grouped by block, with totals.
std::string summary_text(const std::string& title, const ModelSummary& summary);
/// One JSON object.
std::string summary_json(const std::string& name, const ModelSummary& summary);

}  // namespace vitrine
