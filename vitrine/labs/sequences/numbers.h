#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/labs/sequences/runs.h"
#include "vitrine/plot/colors.h"

namespace vitrine::labs::sequences {

/// What one head does at the last position, over all test waves. Steps back count from 0, the last
/// value itself.
struct HeadReading {
  std::vector<double> weights{};  // mean attention weight by steps back
  int64_t lag = 0;                // steps back to the largest of them
  double peak = 0;                // the largest
  double entropy = 0;             // of a wave's weights, in nats, mean over waves
  double steady = 0;              // share of waves whose own largest weight is at `lag`
};

/// The heads of the model's last attention layer.
std::vector<HeadReading> read_heads(Model& model, const WaveTask& task);

/// The attention weights of every head of the last layer for one test wave, each (T, T).
std::vector<plot::Matrix> attention_of_wave(Model& model, const WaveTask& task, int64_t wave);

/// By steps back: how far the prediction moves, on average, when that value is replaced by the mean
/// of all values.
std::vector<double> wave_occlusion(Model& model, const WaveTask& task);

/// How far the prediction moves, on average, when the values before the last one change places.
double shuffling_effect(Model& model, const WaveTask& task);

/// Mean squared error on the test waves of answers that nobody has to learn.
struct WaveBaselines {
  double mean = 0;           // always the mean of the training targets
  double last = 0;           // the last value once more
  double extrapolation = 0;  // on along the line through the last two values
  double recurrence = 0;     // 2 cos(f) y(t) - y(t-1), with cos(f) fitted to the values seen
};

/// What the networks are made of.
struct NetworkWidths {
  int64_t token = 0, heads = 0, feed_forward = 0;  // of the Transformer
  int64_t state = 0;                               // of the recurrent networks
};

/// What the lab is about, before anything is trained.
struct WaveProblem {
  WaveSizes sizes;
  NetworkWidths widths;
  WaveBaselines baselines;
};
WaveProblem wave_problem(const LabOptions& options);

/// A network's scores, and how it goes on with the sample waves.
struct NetworkNumbers {
  WaveNetwork network = WaveNetwork::Transformer;
  WaveScore score{};
  std::vector<std::vector<double>> continued{};  // per sample: its predictions fed back
  double continued_error = 0;                    // MSE of such predictions on the test part
  std::vector<std::vector<double>> occlusion{};  // per seed, by steps back
};

/// A test wave: what is seen, and how it really goes on.
struct SampleWave {
  std::vector<double> seen{}, future{};
};

struct SequenceNumbers {
  std::vector<NetworkNumbers> networks{};  // in the order of kWaveNetworks
  std::vector<SampleWave> samples{};
  std::vector<plot::Matrix> attention{};          // per head of the first Transformer, sample 0
  std::vector<std::vector<HeadReading>> heads{};  // per seed of the Transformer
};

/// Trains every network at its own learning rate with several seeds, then looks into the
/// Transformers. `label` and `unit` name the progress.
SequenceNumbers sequence_numbers(const LabOptions& options, const std::string& label,
                                 const std::string& unit);

/// Mean attention weight of the last position by steps back, over the heads.
std::vector<double> mean_attention(const std::vector<HeadReading>& heads);

/// What several seeds measured by steps back: mean and standard deviation.
struct StepSummary {
  std::vector<double> mean{}, deviation{};

  explicit StepSummary(const std::vector<std::vector<double>>& seeds);
};
/// The attention of the Transformers' last position.
StepSummary attention_summary(const SequenceNumbers& numbers);

/// The mean squared error that the reference of lab 5 reports for a network, over several runs;
/// nothing for networks that it has not trained.
std::optional<MeanStd> reference_error(WaveNetwork network);

/// The correlation of two measures, -1 .. 1 (Pearson).
double correlation(const std::vector<double>& one, const std::vector<double>& other);

}  // namespace vitrine::labs::sequences
