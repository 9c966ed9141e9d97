#include "vitrine/train/optimizer.h"

#include <torch/torch.h>

#include <cmath>

#include "vitrine/core/checks.h"
#include "vitrine/models/model.h"
#include "vitrine/ops/adam.h"

namespace vitrine {
namespace {

/// Matrices and kernels are decayed; vectors, and tables such as positions and class tokens, not.
bool is_decayed(const std::string& name, const torch::Tensor& t) {
  return t.dim() >= 2 && !name.ends_with("_embed") && !name.ends_with("_token") &&
         !name.ends_with("_bias");
}

}  // namespace

NamedTensors trainable_parameters(const Model& model) {
  NamedTensors result;
  for (const auto& item : model.named_parameters())
    if (item.value().requires_grad()) result.emplace_back(item.key(), item.value());
  return result;
}

void OptimizerConfig::visit(Fields& f) {
  f("kind", kind,
    Choices<OptimizerKind>{{"sgd", OptimizerKind::Sgd},
                           {"adam", OptimizerKind::Adam},
                           {"adamw", OptimizerKind::AdamW}},
    "the update rule");
  f("lr", lr, "peak learning rate");
  f("weight_decay", weight_decay,
    "decay of weights; norms, biases, positions and tokens have none");
  f("momentum", momentum, "sgd: momentum");
  f("beta1", beta1, "adam, adamw: decay of the first moment");
  f("beta2", beta2, "adam, adamw: decay of the second moment");
  f("eps", eps, "adam, adamw: added to the root of the second moment");
}

void OptimizerConfig::validate() const {
  check(lr > 0 && std::isfinite(lr), "optimizer: lr {} must be positive", lr);
  check(weight_decay >= 0, "optimizer: weight_decay {} is negative", weight_decay);
  check_share("optimizer", "momentum", momentum);
  check_share("optimizer", "beta1", beta1);
  check_share("optimizer", "beta2", beta2);
  check(eps > 0, "optimizer: eps {} must be positive", eps);
}

Optimizer::Optimizer(const OptimizerConfig& config, NamedTensors parameters) : config_(config) {
  config_.validate();
  for (auto& [name, parameter] : parameters) {
    Slot slot{name,
              parameter,
              torch::zeros_like(parameter),
              {},
              is_decayed(name, parameter) ? config_.weight_decay : 0};
    if (config_.kind != OptimizerKind::Sgd) slot.moment2 = torch::zeros_like(parameter);
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::sgd(Slot& slot, const torch::Tensor& gradient, double lr) const {
  const auto g = gradient.add(slot.parameter, slot.weight_decay);
  slot.moment1.mul_(config_.momentum).add_(g);
  slot.parameter.add_(slot.moment1, -lr);
}

void Optimizer::step(double lr, double gradient_scale) {
  const torch::NoGradGuard no_grad;
  ++steps_done;
  kernels::AdamStep s{};
  s.lr = lr;
  s.beta1 = config_.beta1;
  s.beta2 = config_.beta2;
  s.eps = config_.eps;
  s.correction1 = 1 - std::pow(config_.beta1, steps_done);
  s.correction2 = 1 - std::pow(config_.beta2, steps_done);
  s.gradient_scale = gradient_scale;
  for (auto& slot : slots_) {
    const auto& gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    if (config_.kind == OptimizerKind::Sgd) {
      sgd(slot, gradient * gradient_scale, lr);
      continue;
    }
    const bool decoupled = config_.kind == OptimizerKind::AdamW;
    s.decoupled_decay = decoupled ? slot.weight_decay : 0;
    s.l2_decay = decoupled ? 0 : slot.weight_decay;
    adam_update(s, slot.parameter, gradient, slot.moment1, slot.moment2);
  }
}

void Optimizer::zero_gradients() {
  for (auto& slot : slots_) slot.parameter.mutable_grad().reset();
}

double Optimizer::gradient_norm() const {
  std::vector<torch::Tensor> gradients;
  for (const auto& slot : slots_) gradients.push_back(slot.parameter.grad());
  return joint_norm(gradients);
}

NamedTensors Optimizer::state() const {
  NamedTensors result;
  for (const auto& slot : slots_) {
    result.emplace_back(slot.name + ".moment1", slot.moment1);
    if (slot.moment2.defined()) result.emplace_back(slot.name + ".moment2", slot.moment2);
  }
  return result;
}

}  // namespace vitrine
