#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vitrine/formats/safetensors.h"

namespace vitrine {

class Model;
class ModelChoice;

/// A parameter or buffer of a model without its values.
struct WeightShape {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<int64_t> stacked{};  // rows of each matrix that it stacks; empty: it is one
};

/// The weights of a model, in the order of `named_weights`.
std::vector<WeightShape> weight_shapes(const Model& model);

/// The model that a file's settings describe, with shapes but without memory for weights. Settings
/// that describe something far larger than the file are refused at once, so that a small file
/// cannot ask for a large machine.
std::shared_ptr<Model> model_without_memory(const ModelChoice& choice, const TensorFile& file,
                                            const std::string& origin);

/// The whole numbers of a model's settings: ("depth", 12), ("pattern.stride", 64), ...
std::map<std::string, int64_t> whole_numbers(const ModelChoice& choice);

}  // namespace vitrine
