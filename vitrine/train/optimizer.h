#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/fields.h"

namespace vitrine {

enum class OptimizerKind { Sgd, Adam, AdamW };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::AdamW;
  double lr = 1e-3;  // the schedule's peak
  double weight_decay = 0.05;
  double momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;

  void visit(Fields& f);
  void validate() const;
};

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Changes parameters by their gradients. Norms, biases, class tokens and positions (whatever has
/// fewer than two dimensions larger than one) are not decayed.
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, NamedTensors parameters);

  /// One step with this learning rate; gradients are multiplied by `gradient_scale` first.
  void step(double lr, double gradient_scale);
  void zero_gradients();
  /// The norm of all gradients together.
  double gradient_norm() const;

  /// The moments, named after their parameters; writing into them restores a state.
  NamedTensors state() const;
  int64_t steps_done = 0;

 private:
  struct Slot {
    std::string name;
    torch::Tensor parameter, moment1, moment2;
    double weight_decay;
  };
  void sgd(Slot& slot, const torch::Tensor& gradient, double lr) const;

  OptimizerConfig config_;
  std::vector<Slot> slots_;
};

}  // namespace vitrine
