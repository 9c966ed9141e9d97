#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "vitrine/formats/safetensors.h"
#include "vitrine/nn/parameter_info.h"

namespace vitrine {

struct OptimizerConfig;

/// What holds for all parameters of one optimizer step.
struct OptimizerStep {
  int64_t number;  // from 1 on
  double lr;
  double gradient_scale;  // gradients are multiplied by it first
};

/// How one parameter moves, and what is kept of its past gradients.
class ParameterUpdate {
 public:
  virtual ~ParameterUpdate() = default;
  /// Moves the parameter by its gradient.
  virtual void apply(const torch::Tensor& gradient, const OptimizerStep& step) = 0;
  /// How many multiply-adds `apply` costs beyond a pass over the numbers. Where several processes
  /// train together, one of them makes a step that costs any; the others only call `follow`.
  virtual int64_t cost() const { return 0; }
  /// As `apply`, but leaves the parameter as it is: another process moves it. Asked only of steps
  /// that cost something.
  virtual void follow(const torch::Tensor& /*gradient*/, const OptimizerStep& /*step*/) {}
  /// The moments under their names; writing into them restores a state.
  virtual NamedTensors state() const = 0;
};

/// One update per parameter, in their order.
using ParameterUpdates = std::vector<std::unique_ptr<ParameterUpdate>>;

/// A rule makes the updates of a model's parameters; throws for models that it does not suit.
using OptimizerRule = ParameterUpdates(const OptimizerConfig& config,
                                       const std::vector<ParameterInfo>& parameters);

namespace optimizers {
#define RULE(name) OptimizerRule name;
#include "vitrine/train/optimizers/rules.def"
#undef RULE
}  // namespace optimizers

}  // namespace vitrine
