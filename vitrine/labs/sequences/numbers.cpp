#include "vitrine/labs/sequences/numbers.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "vitrine/data/batch.h"
#include "vitrine/data/examples.h"
#include "vitrine/models/model.h"
#include "vitrine/models/wave.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/plain_values.h"

namespace vitrine::labs::sequences {
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

constexpr int64_t kSamples = 4;
constexpr int64_t kFutureSteps = 20;

WaveSizes sequence_sizes(const LabOptions& options) {
  return options.smoke ? smallest_wave_sizes() : WaveSizes();
}

/// 2 cos(f) of each wave, by least squares from y(t+1) + y(t-1) = 2 cos(f) y(t): (B, T) -> (B).
torch::Tensor fitted_recurrence(const torch::Tensor& waves) {
  const auto inner = waves.size(1) - 2;
  const auto middle = waves.narrow(1, 1, inner);
  const auto around = waves.narrow(1, 0, inner) + waves.narrow(1, 2, inner);
  return (around * middle).sum(1) / middle.square().sum(1);
}

WaveBaselines measure_baselines(const Batch& test, double mean) {
  const auto waves = test.inputs.to(torch::kDouble), next = test.targets.to(torch::kDouble);
  const auto last = waves.select(1, -1), before = waves.select(1, -2);  // (B)
  const auto error = [&](const torch::Tensor& answer) {
    return (answer - next).square().mean().item<double>();
  };
  return {.mean = error(torch::full_like(next, mean)),
          .last = error(last),
          .extrapolation = error(2 * last - before),
          .recurrence = error(fitted_recurrence(waves) * last - before)};
}

/// How waves (B, T) go on by the exact recurrence: (B, steps).
torch::Tensor true_future(const torch::Tensor& waves, int64_t steps) {
  const auto factor = fitted_recurrence(waves);
  auto before = waves.select(1, -2), last = waves.select(1, -1);
  std::vector<torch::Tensor> future;
  for (int64_t i = 0; i < steps; ++i) {
    const auto next = factor * last - before;
    before = last;
    last = next;
    future.push_back(next);
  }
  return torch::stack(future, 1);
}

/// The model's predictions, each becoming the last of the values it sees next: (B, steps).
torch::Tensor predicted_future(Model& model, torch::Tensor waves, int64_t steps) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const auto T = waves.size(1);
  for (int64_t i = 0; i < steps; ++i) {
    const auto next = model.forward(waves.narrow(1, i, T));  // (B)
    waves = torch::cat({waves, next.unsqueeze(1)}, 1);
  }
  return waves.narrow(1, T, steps);
}

double continued_error(Model& model, const torch::Tensor& waves) {
  const auto truth = true_future(waves.to(torch::kDouble), kFutureSteps);
  return (predicted_future(model, waves, kFutureSteps) - truth).square().mean().item<double>();
}

std::vector<std::vector<double>> plain_rows(const torch::Tensor& matrix) {
  std::vector<std::vector<double>> rows;
  for (const auto& row : matrix.unbind(0)) rows.push_back(plain_values(row));
  return rows;
}

std::vector<SampleWave> sample_waves(const torch::Tensor& seen) {
  const auto values = plain_rows(seen);
  const auto future = plain_rows(true_future(seen.to(torch::kDouble), kFutureSteps));
  std::vector<SampleWave> samples;
  for (size_t i = 0; i < values.size(); ++i) samples.push_back({values[i], future[i]});
  return samples;
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

std::vector<double> wave_occlusion(Model& model, const WaveTask& task) {
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

WaveProblem wave_problem(const LabOptions& options) {
  const auto sizes = sequence_sizes(options);
  const auto task = make_wave_task(sizes, options.seed);
  const WaveTransformerConfig transformer;
  const NetworkWidths widths{.token = transformer.dim,
                             .heads = transformer.heads,
                             .feed_forward = transformer.hidden,
                             .state = WaveRnnConfig().hidden};
  return {sizes, widths,
          measure_baselines(test_waves(task),
                            all_examples(*task.data->train).targets.mean().item<double>())};
}

SequenceNumbers sequence_numbers(const LabOptions& options, const std::string& label,
                                 const std::string& unit) {
  const auto task = make_wave_task(sequence_sizes(options), options.seed);
  const auto test = test_waves(task).inputs;
  const auto shown = test.narrow(0, 0, kSamples);
  SequenceNumbers numbers{.samples = sample_waves(shown)};
  const auto networks = static_cast<int64_t>(kWaveNetworks.size());
  WaveRuns runs(options, "lab5", label, networks * WaveRuns::runs_to_tune(task.sizes), unit);
  for (const auto network : kWaveNetworks) {
    const auto tuned =
        runs.tune(task, network_name(network), network_settings(network, task.sizes.length));
    auto& first = *tuned.runs.front().model;
    NetworkNumbers result{.network = network,
                          .score = score_runs(tuned, task),
                          .continued = plain_rows(predicted_future(first, shown, kFutureSteps)),
                          .continued_error = continued_error(first, test)};
    for (const auto& run : tuned.runs) {
      result.occlusion.push_back(wave_occlusion(*run.model, task));
      if (network == WaveNetwork::Transformer)
        numbers.heads.push_back(read_heads(*run.model, task));
    }
    if (network == WaveNetwork::Transformer) numbers.attention = attention_of_wave(first, task, 0);
    numbers.networks.push_back(std::move(result));
  }
  return numbers;
}

std::vector<double> mean_attention(const std::vector<HeadReading>& heads) {
  std::vector<double> mean(heads.front().weights.size());
  for (const auto& head : heads)
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] += head.weights[i] / static_cast<double>(heads.size());
  return mean;
}

StepSummary::StepSummary(const std::vector<std::vector<double>>& seeds) {
  for (const auto& here : mean_std_by_index(seeds)) {
    mean.push_back(here.mean);
    deviation.push_back(here.std);
  }
}

StepSummary attention_summary(const SequenceNumbers& numbers) {
  std::vector<std::vector<double>> seeds;
  for (const auto& heads : numbers.heads) seeds.push_back(mean_attention(heads));
  return StepSummary(seeds);
}

std::optional<MeanStd> reference_error(WaveNetwork network) {
  constexpr int64_t kSeveral = 2;  // runs; it does not say how many
  if (network == WaveNetwork::Transformer) return MeanStd{0.0234, 0.0156, kSeveral};
  if (network == WaveNetwork::Rnn) return MeanStd{0.0289, 0.0198, kSeveral};
  return std::nullopt;
}

double correlation(const std::vector<double>& one, const std::vector<double>& other) {
  const auto n = static_cast<double>(one.size());
  const double mean_one = std::accumulate(one.begin(), one.end(), 0.0) / n;
  const double mean_other = std::accumulate(other.begin(), other.end(), 0.0) / n;
  double both = 0, square_one = 0, square_other = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    const double a = one[i] - mean_one, b = other[i] - mean_other;
    both += a * b;
    square_one += a * a;
    square_other += b * b;
  }
  return both / std::sqrt(square_one * square_other);
}

}  // namespace vitrine::labs::sequences
