#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/ops/orthogonal.h"
#include "vitrine/train/optimizer.h"

namespace vitrine {
namespace {

/// Nesterov momentum, whose direction is made orthogonal: each stacked matrix by itself.
class MuonUpdate : public ParameterUpdate {
 public:
  MuonUpdate(const OptimizerConfig& config, const ParameterInfo& p)
      : parameter_(p.tensor),
        velocity_(torch::zeros_like(p.tensor)),
        rows_(p.stacked.empty() ? std::vector<int64_t>{p.tensor.size(0)} : p.stacked),
        momentum_(config.momentum),
        decay_(p.decay ? config.weight_decay : 0),
        lr_(config.lr),
        matrix_lr_(config.matrix_lr) {}

  void apply(const torch::Tensor& gradient, const OptimizerStep& step) override {
    const double lr = step.lr / lr_ * matrix_lr_;  // on the same schedule
    const auto g = accelerate(gradient, step);
    const auto ahead = g.add(velocity_, momentum_);  // Nesterov
    parameter_.mul_(1 - lr * decay_);
    int64_t row = 0;
    for (const auto& matrix : ahead.split_with_sizes(rows_)) {
      const double longer =
          static_cast<double>(matrix.size(0)) / static_cast<double>(matrix.size(1));
      parameter_.narrow(0, row, matrix.size(0))
          .add_(newton_schulz_orthogonalize(matrix), -lr * std::sqrt(std::max(1.0, longer)));
      row += matrix.size(0);
    }
  }

  int64_t cost() const override {
    int64_t sum = 0;
    for (const auto rows : rows_) sum += newton_schulz_multiply_adds(rows, parameter_.size(1));
    return sum;
  }

  void follow(const torch::Tensor& gradient, const OptimizerStep& step) override {
    accelerate(gradient, step);
  }

  NamedTensors state() const override { return {{"moment1", velocity_}}; }

 private:
  /// Adds the scaled gradient to the velocity; returns it.
  torch::Tensor accelerate(const torch::Tensor& gradient, const OptimizerStep& step) {
    auto g = gradient * step.gradient_scale;
    velocity_.mul_(momentum_).add_(g);
    return g;
  }

  torch::Tensor parameter_, velocity_;
  std::vector<int64_t> rows_;  // of each matrix
  double momentum_, decay_;
  double lr_, matrix_lr_;  // peaks
};

}  // namespace

/// The matrices of blocks; everything else moves by AdamW.
ParameterUpdates optimizers::muon(const OptimizerConfig& config,
                                  const std::vector<ParameterInfo>& parameters) {
  check(std::any_of(parameters.begin(), parameters.end(), [](const auto& p) { return p.matrix; }),
        "optimizer: muon is for the matrices of blocks, and this model has none; take adamw");
  auto updates = adamw(config, parameters);
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].matrix) updates[i] = std::make_unique<MuonUpdate>(config, parameters[i]);
  return updates;
}

}  // namespace vitrine
