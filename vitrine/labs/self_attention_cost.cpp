#include "vitrine/labs/self_attention_cost.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "vitrine/core/line_fit.h"
#include "vitrine/core/progress.h"
#include "vitrine/labs/plain_values.h"
#include "vitrine/nn/attention.h"
#include "vitrine/train/throughput.h"

namespace vitrine::labs {
namespace {

using SequenceLayer = std::function<torch::Tensor(const torch::Tensor& x)>;  // (1, T, C) -> same

SequenceLayer rnn_layer(int64_t width) {
  torch::nn::RNN rnn(torch::nn::RNNOptions(width, width).batch_first(true));
  return [rnn](const torch::Tensor& x) mutable { return std::get<0>(rnn(x)); };
}

SequenceLayer attention_layer(int64_t width, int64_t heads) {
  Attention attention(AttentionConfig{.dim = width, .heads = heads});
  return [attention](const torch::Tensor& x) mutable { return attention(x); };
}

/// Follows what torch allocates on this thread.
class MemoryMeter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*block*/, int64_t size, int64_t /*allocated*/, int64_t /*reserved*/,
                         c10::Device /*device*/) override {
    held_ += size;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0, peak_ = 0;
};

double peak_megabytes(const SequenceLayer& layer, const torch::Tensor& x) {
  const auto meter = std::make_shared<MemoryMeter>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, meter);
  layer(x);
  return static_cast<double>(meter->peak()) / 1e6;
}

double milliseconds(const SequenceLayer& layer, const torch::Tensor& x, double seconds) {
  const torch::NoGradGuard no_grad;
  return measure_steps([&] { layer(x); }, seconds).milliseconds;
}

LayerCost measure_layer(const SequenceLayer& layer, const torch::Tensor& x, double seconds) {
  // The longest way through the graph that torch records for the backward pass.
  const auto chain = static_cast<double>(layer(x).grad_fn()->topological_nr());
  return {chain, milliseconds(layer, x, seconds), peak_megabytes(layer, x)};
}

/// The norm of the gradient of the last output, along a random direction, for each input.
torch::Tensor gradients_by_distance(const SequenceLayer& layer, int64_t length, int64_t width) {
  const auto x = torch::randn({1, length, width}).requires_grad_();
  const auto direction = torch::nn::functional::normalize(
      torch::randn({width}), torch::nn::functional::NormalizeFuncOptions().dim(0));
  layer(x)[0][length - 1].dot(direction).backward();
  return x.grad()[0].norm(2, /*dim=*/1).flip(0).to(torch::kDouble);  // (T), nearest first
}

/// The factor per step of an exponential fall, leaving out the last token itself.
double factor_per_step(const std::vector<double>& distance, const std::vector<double>& gradient) {
  std::vector<double> steps, logarithms;
  for (size_t i = 1; i < distance.size(); ++i) {
    if (gradient[i] <= 0) continue;
    steps.push_back(distance[i]);
    logarithms.push_back(std::log(gradient[i]));
  }
  return std::exp(slope(steps, logarithms));
}

}  // namespace

CostCurves measure_costs(const std::vector<int64_t>& lengths, double seconds_each, uint64_t seed,
                         const std::string& label) {
  torch::manual_seed(seed);
  CostCurves curves{.lengths = lengths, .fitted_from = lengths[lengths.size() / 2]};
  const auto C = static_cast<double>(curves.width);
  const auto rnn = rnn_layer(curves.width);
  const auto attention = attention_layer(curves.width, curves.heads);
  Progress progress(label, static_cast<int64_t>(lengths.size()), "");
  for (const auto length : lengths) {
    const auto x = torch::randn({1, length, curves.width});
    const auto T = static_cast<double>(length);
    curves.rnn.push_back(measure_layer(rnn, x, seconds_each));
    curves.rnn.back().multiply_adds = 2 * T * C * C;
    curves.attention.push_back(measure_layer(attention, x, seconds_each));
    curves.attention.back().multiply_adds = 4 * T * C * C + 2 * T * T * C;
    progress.update(static_cast<int64_t>(curves.rnn.size()));
  }
  return curves;
}

double cost_exponent(const CostCurves& curves, const std::vector<LayerCost>& layer,
                     double LayerCost::*figure) {
  std::vector<double> x, y;
  for (size_t i = 0; i < layer.size(); ++i) {
    if (curves.lengths[i] < curves.fitted_from) continue;
    x.push_back(std::log(curves.lengths[i]));
    y.push_back(std::log(layer[i].*figure));
  }
  return slope(x, y);
}

ReachCurves measure_reach(int64_t length, int64_t layers, uint64_t seed) {
  torch::manual_seed(seed);
  const CostCurves sizes;
  auto rnn = torch::zeros({length}, torch::kDouble), attention = rnn.clone();
  for (int64_t i = 0; i < layers; ++i) {
    rnn += gradients_by_distance(rnn_layer(sizes.width), length, sizes.width) / layers;
    attention +=
        gradients_by_distance(attention_layer(sizes.width, sizes.heads), length, sizes.width) /
        layers;
  }
  ReachCurves curves{.rnn = plain_values(rnn), .attention = plain_values(attention)};
  for (int64_t i = 0; i < length; ++i) curves.distance.push_back(static_cast<double>(i));
  curves.rnn_factor = factor_per_step(curves.distance, curves.rnn);
  curves.attention_factor = factor_per_step(curves.distance, curves.attention);
  return curves;
}

}  // namespace vitrine::labs
