#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace vitrine {

class BlockImpl;

/// What an optimizer must know of a parameter. The layer that owns it decides, never its name.
struct ParameterInfo {
  std::string name{};
  torch::Tensor tensor{};
  /// Weight decay applies: matrices and kernels of Linear, convolutions, embeddings and recurrent
  /// layers. Biases, norms, tokens and position tables have none.
  bool decay = false;
  /// It is the weight of a Linear inside a block: what Muon orthogonalises.
  bool matrix = false;
  /// The rows of each matrix that it stacks; empty = one matrix. As in `LinearConfig`.
  std::vector<int64_t> stacked{};
  /// Where it stands, for learning rates by layer: 0 before the blocks (and in models without any),
  /// i + 1 in block i and between it and the next, blocks + 1 after the last one.
  int64_t depth = 0;
};

/// The parameters of a model that learn, in the order of `named_parameters`. What is registered
/// after a block stands after it; parameters of the model itself stand before all blocks.
std::vector<ParameterInfo> parameter_info(const torch::nn::Module& model,
                                          const std::vector<std::shared_ptr<BlockImpl>>& blocks);

}  // namespace vitrine
