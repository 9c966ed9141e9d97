#include "vitrine/labs/exercises/numbers.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>
#include <set>

#include "vitrine/core/line_fit.h"
#include "vitrine/data/batch.h"
#include "vitrine/labs/sequences/numbers.h"
#include "vitrine/models/model.h"
#include "vitrine/train/throughput.h"

namespace vitrine::labs {
namespace {

const std::vector<std::string> kPositionKinds = {"none", "linear", "learned", "sinusoidal",
                                                 "relative"};
const std::vector<int64_t> kHeadCounts = {1, 2, 4, 8};
constexpr int64_t kTokenWidth = 32;

/// Three seeds and three learning rates keep an exercise within a minute and a half.
WaveSizes practice_sizes(const LabOptions& options) {
  auto sizes = options.smoke ? smallest_wave_sizes() : WaveSizes();
  if (!options.smoke) sizes.rates = {3e-3, 1e-2, 3e-2}, sizes.seeds = 3;
  return sizes;
}

/// Steps of 160 values take a while: fewer of them, with one seed.
WaveSizes lengths_sizes(const LabOptions& options) {
  auto sizes = options.smoke ? smallest_wave_sizes() : WaveSizes();
  if (!options.smoke) {
    sizes.train = 1024, sizes.validation = 128, sizes.test = 512;
    sizes.epochs = 10, sizes.trial_epochs = 5;
    sizes.rates = {3e-3, 1e-2, 3e-2};
  }
  sizes.seeds = 1;
  return sizes;
}

std::vector<int64_t> practised_lengths(const LabOptions& options) {
  return options.smoke ? std::vector<int64_t>{10, 20} : std::vector<int64_t>{10, 20, 40, 80, 160};
}

double last_value_error(const WaveTask& task) {
  const auto test = test_waves(task);
  return torch::mse_loss(test.inputs.select(1, -1), test.targets).item<double>();
}

/// Different steps back at which heads peak.
int64_t distinct_lags(const std::vector<HeadReading>& heads) {
  std::set<int64_t> lags;
  for (const auto& head : heads) lags.insert(head.lag);
  return static_cast<int64_t>(lags.size());
}

HeadsRow heads_row(int64_t heads, const TunedRuns& tuned, const WaveTask& task) {
  HeadsRow row{.heads = heads, .score = score_wave_runs(tuned, task)};
  std::vector<double> entropies;
  for (const auto& run : tuned.runs) {
    const auto readings = read_heads(*run.model, task);
    for (const auto& head : readings) entropies.push_back(head.entropy);
    row.distinct_lags += static_cast<double>(distinct_lags(readings)) / tuned.runs.size();
  }
  row.entropy = mean_std(entropies);
  return row;
}

/// A training step on one batch, in milliseconds.
double training_step_time(Model& model, const WaveTask& task) {
  constexpr double kSeconds = 0.2;
  std::vector<int64_t> indices(std::min(task.sizes.batch, task.sizes.train));
  std::iota(indices.begin(), indices.end(), 0);
  return measure_training(model, task.data->train->load(indices, /*epoch=*/0), kSeconds)
      .milliseconds;
}

/// The slope of log(milliseconds) over log(length).
double time_exponent(const std::vector<LengthPoint>& points) {
  std::vector<double> x, y;
  for (const auto& point : points) {
    x.push_back(std::log(point.length));
    y.push_back(std::log(point.milliseconds));
  }
  return slope(x, y);
}

}  // namespace

PositionsPractice positions_practice(const LabOptions& options, const std::string& label,
                                     const std::string& unit) {
  const auto task = make_wave_task(practice_sizes(options), options.seed);
  PositionsPractice practice{.sizes = task.sizes, .last_value = last_value_error(task)};
  const auto kinds = static_cast<int64_t>(kPositionKinds.size());
  WaveRuns runs(options, "positions", label, kinds * WaveRuns::runs_to_tune(task.sizes), unit);
  for (const auto& kind : kPositionKinds) {
    const auto settings =
        fmt::format("name: wave_transformer, length: {}, positions: {}", task.sizes.length, kind);
    const auto tuned = runs.tune(task, kind, settings);
    std::vector<double> shuffling;
    for (const auto& run : tuned.runs) shuffling.push_back(shuffling_effect(*run.model, task));
    practice.rows.push_back({kind, score_wave_runs(tuned, task), mean_std(shuffling)});
  }
  return practice;
}

HeadsPractice heads_practice(const LabOptions& options, const std::string& label,
                             const std::string& unit) {
  const auto task = make_wave_task(practice_sizes(options), options.seed);
  HeadsPractice practice{.sizes = task.sizes, .width = kTokenWidth};
  const auto counts = static_cast<int64_t>(kHeadCounts.size());
  WaveRuns runs(options, "heads", label, counts * WaveRuns::runs_to_tune(task.sizes), unit);
  for (const auto heads : kHeadCounts) {
    const auto settings = fmt::format("name: wave_transformer, length: {}, dim: {}, heads: {}",
                                      task.sizes.length, kTokenWidth, heads);
    practice.rows.push_back(
        heads_row(heads, runs.tune(task, std::to_string(heads), settings), task));
  }
  return practice;
}

LengthsPractice lengths_practice(const LabOptions& options, const std::string& label,
                                 const std::string& unit) {
  const auto sizes = lengths_sizes(options);
  const auto lengths = practised_lengths(options);
  const auto usual = make_wave_task(sizes, options.seed);
  LengthsPractice practice{.sizes = sizes};
  const auto per_network = static_cast<int64_t>(sizes.rates.size() + lengths.size());
  const auto networks = static_cast<int64_t>(kWaveNetworks.size());
  WaveRuns runs(options, "rnn", label, networks * per_network, unit);
  for (const auto network : kWaveNetworks) {
    const auto name = wave_network_name(network);
    LengthsRow row{.network = network,
                   .rate = best_rate(
                       runs.try_rates(usual, name, wave_network_settings(network, sizes.length)))};
    for (const auto length : lengths) {
      auto sizes_here = sizes;
      sizes_here.length = length;
      const auto task = make_wave_task(sizes_here, options.seed);
      const auto run = runs.train(task, fmt::format("{}-{}", name, length),
                                  wave_network_settings(network, length), row.rate, sizes.epochs,
                                  /*seed=*/0);
      row.points.push_back(
          {length, run.result.outcome.test_value(), training_step_time(*run.model, task)});
    }
    row.exponent = time_exponent(row.points);
    practice.rows.push_back(std::move(row));
  }
  return practice;
}

}  // namespace vitrine::labs
