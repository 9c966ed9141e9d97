#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "vitrine/core/fields.h"
#include "vitrine/formats/safetensors.h"

namespace vitrine {

class Model;

enum class OptimizerKind { Sgd, Adam, AdamW, Muon };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::AdamW;
  double lr = 1e-3;  // the schedule's peak
  double weight_decay = 0.05;
  double momentum = 0.9;
  double matrix_lr = 0.02;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;

  void visit(Fields& f);
  void validate() const;
};

/// The parameters that learn, under their names.
NamedTensors trainable_parameters(const Model& model);

/// Changes parameters by their gradients. Norms, biases, class tokens and positions are not
/// decayed. Muon takes orthogonal steps for the matrices of a model's blocks, and those of AdamW
/// for everything else.
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
    OptimizerKind rule;
  };
  void sgd(Slot& slot, const torch::Tensor& gradient, double lr) const;
  void muon(Slot& slot, const torch::Tensor& gradient, double lr) const;

  OptimizerConfig config_;
  std::vector<Slot> slots_;
};

}  // namespace vitrine
