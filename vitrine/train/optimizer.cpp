#include "vitrine/train/optimizer.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/checks.h"
#include "vitrine/ops/adam.h"

namespace vitrine {

const Choices<OptimizerRule*>& optimizer_rules() {
  static const Choices<OptimizerRule*> rules = {
#define RULE(name) {#name, optimizers::name},
#include "vitrine/train/optimizers/rules.def"
#undef RULE
  };
  return rules;
}

void OptimizerConfig::visit(Fields& f) {
  f("kind", kind, optimizer_rules(),
    "the update rule; muon: orthogonal steps for the matrices of blocks, adamw for the rest");
  f("lr", lr, "peak learning rate");
  f("layer_decay", layer_decay,
    "layer-wise learning rate decay: the head learns at lr, each layer before it at this times "
    "the rate of the next; 1 = off");
  f("weight_decay", weight_decay,
    "weight decay; not applied to norms, biases, positions and tokens");
  f("momentum", momentum, "sgd, muon: momentum");
  f("matrix_lr", matrix_lr, "muon: peak learning rate of the matrices of blocks");
  f("beta1", beta1, "all but sgd: decay of the first moment");
  f("beta2", beta2, "all but sgd: decay of the second moment");
  f("eps", eps, "all but sgd: added to the root of the second moment");
}

void OptimizerConfig::validate() const {
  check(lr > 0 && std::isfinite(lr), "optimizer: lr {} must be positive", lr);
  check(layer_decay > 0 && layer_decay <= 1,
        "optimizer: layer_decay {} is not above 0 and at most 1; 1 = the same rate everywhere",
        layer_decay);
  check(matrix_lr > 0 && std::isfinite(matrix_lr), "optimizer: matrix_lr {} must be positive",
        matrix_lr);
  check(weight_decay >= 0, "optimizer: weight_decay {} is negative", weight_decay);
  check_fraction("optimizer", "momentum", momentum);
  check_fraction("optimizer", "beta1", beta1);
  check_fraction("optimizer", "beta2", beta2);
  check(eps > 0, "optimizer: eps {} must be positive", eps);
}

Optimizer::Optimizer(const OptimizerConfig& config, std::vector<ParameterInfo> parameters)
    : parameters_(std::move(parameters)) {
  config.validate();
  updates_ = config.kind(config, parameters_);
  int64_t last = 0;
  for (const auto& p : parameters_) last = std::max(last, p.depth);
  for (const auto& p : parameters_)
    lr_scales_.push_back(std::pow(config.layer_decay, last - p.depth));
}

void Optimizer::step(double lr, double gradient_scale) {
  const torch::NoGradGuard no_grad;
  ++steps_done;
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (const auto& gradient = parameters_[i].tensor.grad(); gradient.defined())
      updates_[i]->apply(gradient, {steps_done, lr * lr_scales_[i], gradient_scale});
}

void Optimizer::zero_gradients() {
  for (auto& p : parameters_) p.tensor.mutable_grad().reset();
}

double Optimizer::gradient_norm() const {
  std::vector<torch::Tensor> gradients;
  for (const auto& p : parameters_) gradients.push_back(p.tensor.grad());
  return joint_norm(gradients);
}

NamedTensors Optimizer::state() const {
  NamedTensors result;
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (auto& [name, moment] : updates_[i]->state())
      result.emplace_back(parameters_[i].name + "." + name, moment);
  return result;
}

}  // namespace vitrine
