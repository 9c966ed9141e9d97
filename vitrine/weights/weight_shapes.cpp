#include "vitrine/weights/weight_shapes.h"

#include <torch/torch.h>
#include <yaml-cpp/yaml.h>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/nn/linear.h"
#include "vitrine/weights/load.h"

namespace vitrine {
namespace {

// A model makes few tensors beside its weights (tables of waves, steps of initialisation); whatever
// the file's size, this much is harmless.
constexpr int64_t kTensorsPerStored = 8, kTensorsAllowed = 1000;
constexpr int64_t kBytesPerStored = 8, kBytesAllowed = int64_t{1} << 30;
constexpr int64_t kSizeAllowed = int64_t{1} << 20;

void add_whole_numbers(const YAML::Node& node, const std::string& path,
                       std::map<std::string, int64_t>& numbers) {
  int64_t value = 0;
  if (node.IsScalar() && YAML::convert<int64_t>::decode(node, value)) numbers[path] = value;
  if (!node.IsMap()) return;
  for (const auto& item : node) {
    const auto key = item.first.as<std::string>();
    add_whole_numbers(item.second, path.empty() ? key : path + "." + key, numbers);
  }
}

}  // namespace

std::map<std::string, int64_t> whole_numbers(const ModelChoice& choice) {
  std::map<std::string, int64_t> numbers;
  add_whole_numbers(YAML::Load(to_yaml(choice)), "", numbers);
  return numbers;
}

std::vector<WeightShape> weight_shapes(const Model& model) {
  std::map<std::string, std::vector<int64_t>> stacked;
  for (const auto& item : model.named_modules(/*name_prefix=*/"", /*include_self=*/false))
    if (const auto* linear = item.value()->as<Linear>())
      stacked[item.key() + ".weight"] = stacked[item.key() + ".bias"] = linear->config.stacked;
  std::vector<WeightShape> result;
  for (const auto& [name, weight] : named_weights(model))
    result.push_back({name, weight.sizes().vec(), stacked[name]});
  return result;
}

std::shared_ptr<Model> model_without_memory(const ModelChoice& choice, const TensorFile& file,
                                            const std::string& origin) {
  int64_t elements = 0, bytes = 0;
  for (const auto& [name, tensor] : file.tensors) {
    elements += tensor.numel();
    bytes += static_cast<int64_t>(tensor.nbytes());
  }
  for (const auto& [key, number] : whole_numbers(choice))
    check(
        number <= std::max(kSizeAllowed, elements),
        "weights: {} describes a model with {}={}, but holds {} numbers in all; it was not written "
        "for such a model",
        origin, key, number, elements);
  const auto tensors = std::ssize(file.tensors);
  const ShapesOnly shapes_only(
      {.tensors = kTensorsPerStored * tensors + kTensorsAllowed,
       .bytes = kBytesPerStored * bytes + kBytesAllowed,
       .refusal = fmt::format("weights: {} describes a model far larger than its {} tensors of {} "
                              "bytes; it was not written for such a model",
                              origin, tensors, bytes)});
  try {
    return choice.build();
  } catch (const c10::Error& e) {
    fail("weights: {} describes a model that cannot be built: {}", origin,
         e.what_without_backtrace());
  }
}

}  // namespace vitrine
