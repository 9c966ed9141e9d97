#include "vitrine/nn/parameter_info.h"

#include <algorithm>

#include "vitrine/nn/block.h"
#include "vitrine/nn/linear.h"

namespace vitrine {
namespace {

bool has_decayed_weights(const torch::nn::Module& layer) {
  return layer.as<Linear>() != nullptr || layer.as<torch::nn::Embedding>() != nullptr ||
         layer.as<torch::nn::Conv1d>() != nullptr || layer.as<torch::nn::Conv2d>() != nullptr ||
         layer.as<torch::nn::Conv3d>() != nullptr || layer.as<torch::nn::RNN>() != nullptr ||
         layer.as<torch::nn::LSTM>() != nullptr || layer.as<torch::nn::GRU>() != nullptr;
}

/// Goes through a model's layers in the order of their registration.
class ParameterWalk {
 public:
  explicit ParameterWalk(const BlockListImpl::Blocks& blocks) : blocks_(blocks) {}

  void visit(const torch::nn::Module& layer, const std::string& prefix, bool inside_block) {
    const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const auto& b) { return b.get() == &layer; });
    if (block != blocks_.end()) {
      passed_ = block - blocks_.begin() + 1;
      inside_block = true;
    }
    for (const auto& item : layer.named_parameters(/*recurse=*/false))
      if (item.value().requires_grad()) add(layer, prefix + item.key(), item.value(), inside_block);
    for (const auto& child : layer.named_children())
      visit(*child.value(), prefix + child.key() + ".", inside_block);
  }

  std::vector<ParameterInfo> found;

 private:
  void add(const torch::nn::Module& layer, const std::string& name, const torch::Tensor& tensor,
           bool inside_block) {
    ParameterInfo info{.name = name, .tensor = tensor};
    info.decay = tensor.dim() >= 2 && has_decayed_weights(layer);
    if (const auto* linear = layer.as<Linear>();
        inside_block && linear != nullptr && tensor.is_same(linear->weight)) {
      info.matrix = true;
      info.stacked = linear->config.stacked;
    }
    const auto all = std::ssize(blocks_);
    info.depth = !inside_block && all > 0 && passed_ == all ? all + 1 : passed_;
    found.push_back(std::move(info));
  }

  const BlockListImpl::Blocks& blocks_;
  int64_t passed_ = 0;  // blocks that have been entered
};

}  // namespace

std::vector<ParameterInfo> parameter_info(const torch::nn::Module& model,
                                          const BlockListImpl::Blocks& blocks) {
  ParameterWalk walk(blocks);
  walk.visit(model, "", /*inside_block=*/false);
  return std::move(walk.found);
}

}  // namespace vitrine
