#include "vitrine/train/optimizer.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/checks.h"
#include "vitrine/models/model.h"
#include "vitrine/ops/adam.h"
#include "vitrine/ops/orthogonal.h"

namespace vitrine {
namespace {

/// Matrices and kernels are decayed; vectors, and tables such as positions and class tokens, not.
bool is_decayed(const std::string& name, const torch::Tensor& t) {
  return t.dim() >= 2 && !name.ends_with("_embed") && !name.ends_with("_token") &&
         !name.ends_with("_bias");
}

bool is_matrix_of_a_block(const std::string& name, const torch::Tensor& t) {
  return name.starts_with("blocks.") && name.ends_with(".weight") && t.dim() == 2;
}

/// The rule for one parameter.
OptimizerKind rule_of(OptimizerKind kind, const std::string& name, const torch::Tensor& t) {
  if (kind != OptimizerKind::Muon) return kind;
  return is_matrix_of_a_block(name, t) ? OptimizerKind::Muon : OptimizerKind::AdamW;
}

/// Queries, keys and values are matrices of their own, although they stand in one: (2 K + C, C).
std::vector<torch::Tensor> stacked_matrices(const std::string& name, const torch::Tensor& matrix) {
  if (!name.ends_with("qkv.weight")) return {matrix};
  const auto width = matrix.size(1), keys = (matrix.size(0) - width) / 2;
  return matrix.split_with_sizes({keys, keys, width});
}

bool has_second_moment(OptimizerKind rule) {
  return rule == OptimizerKind::Adam || rule == OptimizerKind::AdamW;
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
                           {"adamw", OptimizerKind::AdamW},
                           {"muon", OptimizerKind::Muon}},
    "the update rule; muon: orthogonal steps for the matrices of blocks, adamw for the rest");
  f("lr", lr, "peak learning rate");
  f("weight_decay", weight_decay,
    "decay of weights; norms, biases, positions and tokens have none");
  f("momentum", momentum, "sgd, muon: momentum");
  f("matrix_lr", matrix_lr, "muon: peak learning rate of the matrices of blocks");
  f("beta1", beta1, "all but sgd: decay of the first moment");
  f("beta2", beta2, "all but sgd: decay of the second moment");
  f("eps", eps, "all but sgd: added to the root of the second moment");
}

void OptimizerConfig::validate() const {
  check(lr > 0 && std::isfinite(lr), "optimizer: lr {} must be positive", lr);
  check(matrix_lr > 0 && std::isfinite(matrix_lr), "optimizer: matrix_lr {} must be positive",
        matrix_lr);
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
              is_decayed(name, parameter) ? config_.weight_decay : 0,
              rule_of(config_.kind, name, parameter)};
    if (has_second_moment(slot.rule)) slot.moment2 = torch::zeros_like(parameter);
    slots_.push_back(std::move(slot));
  }
  check(config_.kind != OptimizerKind::Muon ||
            std::any_of(slots_.begin(), slots_.end(),
                        [](const Slot& slot) { return slot.rule == OptimizerKind::Muon; }),
        "optimizer: muon is for the matrices of blocks, and this model has none; take adamw");
}

void Optimizer::sgd(Slot& slot, const torch::Tensor& gradient, double lr) const {
  const auto g = gradient.add(slot.parameter, slot.weight_decay);
  slot.moment1.mul_(config_.momentum).add_(g);
  slot.parameter.add_(slot.moment1, -lr);
}

void Optimizer::muon(Slot& slot, const torch::Tensor& gradient, double lr) const {
  const double matrix_lr = lr / config_.lr * config_.matrix_lr;  // on the same schedule
  slot.moment1.mul_(config_.momentum).add_(gradient);
  const auto ahead = gradient.add(slot.moment1, config_.momentum);  // Nesterov
  slot.parameter.mul_(1 - matrix_lr * slot.weight_decay);
  int64_t row = 0;
  for (const auto& part : stacked_matrices(slot.name, ahead)) {
    const double longer = static_cast<double>(part.size(0)) / static_cast<double>(part.size(1));
    slot.parameter.narrow(0, row, part.size(0))
        .add_(nearly_orthogonal(part), -matrix_lr * std::sqrt(std::max(1.0, longer)));
    row += part.size(0);
  }
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
    if (slot.rule == OptimizerKind::Sgd) {
      sgd(slot, gradient * gradient_scale, lr);
      continue;
    }
    if (slot.rule == OptimizerKind::Muon) {
      muon(slot, gradient * gradient_scale, lr);
      continue;
    }
    const bool decoupled = slot.rule == OptimizerKind::AdamW;
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
