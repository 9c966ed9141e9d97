#include <torch/torch.h>

#include <cmath>

#include "vitrine/ops/adam.h"
#include "vitrine/train/optimizer.h"

namespace vitrine {
namespace {

/// Adam adds the decay to the gradient, AdamW shrinks the weight by it.
enum class Decay { OfGradient, OfWeight };

class AdamUpdate : public ParameterUpdate {
 public:
  AdamUpdate(const OptimizerConfig& config, const ParameterInfo& p, Decay kind)
      : parameter_(p.tensor),
        moment1_(torch::zeros_like(p.tensor)),
        moment2_(torch::zeros_like(p.tensor)) {
    const double decay = p.decay ? config.weight_decay : 0;
    step_.beta1 = config.beta1;
    step_.beta2 = config.beta2;
    step_.eps = config.eps;
    step_.decoupled_decay = kind == Decay::OfWeight ? decay : 0;
    step_.l2_decay = kind == Decay::OfGradient ? decay : 0;
  }

  void apply(const torch::Tensor& gradient, const OptimizerStep& step) override {
    step_.lr = step.lr;
    step_.correction1 = 1 - std::pow(step_.beta1, step.number);
    step_.correction2 = 1 - std::pow(step_.beta2, step.number);
    step_.gradient_scale = step.gradient_scale;
    adam_update(step_, parameter_, gradient, moment1_, moment2_);
  }

  NamedTensors state() const override { return {{"moment1", moment1_}, {"moment2", moment2_}}; }

 private:
  torch::Tensor parameter_, moment1_, moment2_;
  kernels::AdamStep step_{};
};

ParameterUpdates adam_updates(const OptimizerConfig& config,
                              const std::vector<ParameterInfo>& parameters, Decay kind) {
  ParameterUpdates updates;
  for (const auto& p : parameters)
    updates.push_back(std::make_unique<AdamUpdate>(config, p, kind));
  return updates;
}

}  // namespace

ParameterUpdates optimizers::adam(const OptimizerConfig& config,
                                  const std::vector<ParameterInfo>& parameters) {
  return adam_updates(config, parameters, Decay::OfGradient);
}

ParameterUpdates optimizers::adamw(const OptimizerConfig& config,
                                   const std::vector<ParameterInfo>& parameters) {
  return adam_updates(config, parameters, Decay::OfWeight);
}

}  // namespace vitrine
