#include <torch/torch.h>

#include "vitrine/train/optimizer.h"

namespace vitrine {
namespace {

/// v = momentum v + g + decay w; w -= lr v.
class SgdUpdate : public ParameterUpdate {
 public:
  SgdUpdate(const OptimizerConfig& config, const ParameterInfo& p)
      : parameter_(p.tensor),
        velocity_(torch::zeros_like(p.tensor)),
        momentum_(config.momentum),
        decay_(p.decay ? config.weight_decay : 0) {}

  void apply(const torch::Tensor& gradient, const OptimizerStep& step) override {
    const auto g = (gradient * step.gradient_scale).add(parameter_, decay_);
    velocity_.mul_(momentum_).add_(g);
    parameter_.add_(velocity_, -step.lr);
  }

  NamedTensors state() const override { return {{"moment1", velocity_}}; }

 private:
  torch::Tensor parameter_, velocity_;
  double momentum_, decay_;
};

}  // namespace

ParameterUpdates optimizers::sgd(const OptimizerConfig& config,
                                 const std::vector<ParameterInfo>& parameters) {
  ParameterUpdates updates;
  for (const auto& p : parameters) updates.push_back(std::make_unique<SgdUpdate>(config, p));
  return updates;
}

}  // namespace vitrine
