#include "vitrine/train/optimizer.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "vitrine/core/checks.h"
#include "vitrine/ops/adam.h"
#include "vitrine/train/distributed/worker_group.h"

namespace vitrine {
namespace {

constexpr int64_t kEveryRank = -1;

}  // namespace

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

Optimizer::Optimizer(const OptimizerConfig& config, std::vector<ParameterInfo> parameters,
                     const WorkerGroup* group)
    : group_(WorkerGroup::or_alone(group)), parameters_(std::move(parameters)) {
  config.validate();
  updates_ = config.kind(config, parameters_);
  int64_t last = 0;
  for (const auto& p : parameters_) last = std::max(last, p.depth);
  for (const auto& p : parameters_)
    lr_scales_.push_back(std::pow(config.layer_decay, last - p.depth));
  choose_owners();
}

void Optimizer::choose_owners() {
  owners_.assign(parameters_.size(), kEveryRank);
  if (group_.size() == 1) return;
  std::vector<size_t> costly;
  for (size_t i = 0; i < updates_.size(); ++i)
    if (updates_[i]->cost() > 0) costly.push_back(i);
  // The most expensive first, each to the rank that has least to do.
  std::ranges::stable_sort(costly, std::greater<>(), [&](size_t i) { return updates_[i]->cost(); });
  std::vector<int64_t> work(static_cast<size_t>(group_.size()));
  for (const auto i : costly) {
    const auto least = std::ranges::min_element(work);
    owners_[i] = least - work.begin();
    *least += updates_[i]->cost();
  }
}

void Optimizer::step(double lr, double gradient_scale) {
  const torch::NoGradGuard no_grad;
  ++steps_done;
  std::vector<OwnedTensor> dealt_out;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& parameter = parameters_[i].tensor;
    if (!parameter.grad().defined()) continue;
    const OptimizerStep step{steps_done, lr * lr_scales_[i], gradient_scale};
    const auto owner = owners_[i];
    if (owner == kEveryRank || owner == group_.rank())
      updates_[i]->apply(parameter.grad(), step);
    else
      updates_[i]->follow(parameter.grad(), step);
    if (owner != kEveryRank) dealt_out.push_back({parameter, owner});
  }
  group_.take_from_owners(dealt_out);
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
