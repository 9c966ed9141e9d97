#pragma once

#include "vitrine/core/fields.h"
#include "vitrine/train/optimizers/rule.h"

namespace vitrine {

class WorkerGroup;

/// The rules by their names in recipes. Adding one ends with one line here.
const Choices<OptimizerRule*>& optimizer_rules();

struct OptimizerConfig {
  OptimizerRule* kind = optimizers::adamw;
  double lr = 1e-3;  // the schedule's peak
  double layer_decay = 1;
  double weight_decay = 0.05;
  double momentum = 0.9;
  double matrix_lr = 0.02;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;

  void visit(Fields& f);
  void validate() const;
};

/// Changes parameters by their gradients, each by what its `ParameterInfo` says and the rule that
/// `config.kind` names. Where a group trains together, steps that are costly are dealt out: every
/// rank makes some of them and gets the others.
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, std::vector<ParameterInfo> parameters,
            const WorkerGroup* group = nullptr);

  /// One step with this learning rate; gradients are multiplied by `gradient_scale` first. All
  /// ranks of a group call it, with the same gradients.
  void step(double lr, double gradient_scale);
  void zero_gradients();
  /// The norm of all gradients together.
  double gradient_norm() const;

  /// The moments, named after their parameters; writing into them restores a state.
  NamedTensors state() const;
  int64_t steps_done = 0;

 private:
  /// Deals the costly updates out.
  void choose_owners();

  const WorkerGroup& group_;
  std::vector<ParameterInfo> parameters_;
  ParameterUpdates updates_;
  std::vector<double> lr_scales_;  // by depth, one per parameter
  std::vector<int64_t> owners_;    // the rank that makes a parameter's step; kEveryRank: each
};

}  // namespace vitrine
