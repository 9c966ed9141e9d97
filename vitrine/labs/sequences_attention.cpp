#include "vitrine/labs/sequences_attention.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/data/batch.h"
#include "vitrine/labs/plain_values.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine::labs {
namespace {

torch::Tensor predicted(Model& model, const torch::Tensor& waves) {
  const torch::NoGradGuard no_grad;
  model.eval();
  return model.forward(waves);  // (B)
}

/// The weights of the last attention layer: (B, H, T, T).
torch::Tensor last_attention(Model& model, const torch::Tensor& waves) {
  AttentionCapture capture;
  predicted(model, waves);
  return capture.layers.back().weights;
}

/// `weights`: (B, T), by steps back.
HeadReading head_reading(const torch::Tensor& weights) {
  const auto mean = weights.mean(0);  // (T)
  const auto lag = mean.argmax().item<int64_t>();
  return {.weights = plain_values(mean),
          .lag = lag,
          .peak = mean[lag].item<double>(),
          .entropy = torch::special::entr(weights).sum(1).mean().item<double>(),
          .steady = weights.argmax(1).eq(lag).to(torch::kDouble).mean().item<double>()};
}

double mean_change(const torch::Tensor& before, const torch::Tensor& after) {
  return (after - before).abs().mean().item<double>();
}

}  // namespace

std::vector<HeadReading> read_heads(Model& model, const WaveTask& task) {
  const auto attention = last_attention(model, test_waves(task).inputs);
  const auto back = attention.select(2, -1).flip(-1);  // (B, H, T)
  std::vector<HeadReading> heads;
  for (const auto& head : back.unbind(1)) heads.push_back(head_reading(head));
  return heads;
}

std::vector<plot::Matrix> attention_of_wave(Model& model, const WaveTask& task, int64_t wave) {
  const auto attention = last_attention(model, test_waves(task).inputs.narrow(0, wave, 1));
  std::vector<plot::Matrix> maps;
  for (const auto& head : attention.squeeze(0).unbind(0)) maps.push_back(plain_matrix(head));
  return maps;
}

std::vector<double> occlusion_by_step(Model& model, const WaveTask& task) {
  const auto inputs = test_waves(task).inputs;
  const auto prediction = predicted(model, inputs);
  const double mean = inputs.mean().item<double>();
  std::vector<double> changes;
  for (int64_t step = inputs.size(1) - 1; step >= 0; --step) {
    auto occluded = inputs.clone();
    occluded.select(1, step).fill_(mean);
    changes.push_back(mean_change(prediction, predicted(model, occluded)));
  }
  return changes;
}

double shuffling_effect(Model& model, const WaveTask& task) {
  const auto inputs = test_waves(task).inputs;
  const auto last = inputs.size(1) - 1;
  const auto order = torch::cat({torch::randperm(last, torch::kLong), torch::tensor({last})});
  return mean_change(predicted(model, inputs), predicted(model, inputs.index_select(1, order)));
}

}  // namespace vitrine::labs
