#include "vitrine/labs/exercises/numbers.h"

#include <torch/torch.h>

#include <cmath>
#include <set>

#include "vitrine/core/line_fit.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/examples.h"
#include "vitrine/labs/sequences/numbers.h"
#include "vitrine/models/model.h"
#include "vitrine/train/throughput.h"

namespace vitrine::labs::exercises {
namespace {

const std::vector<std::string> kPositionKinds = {"none", "linear", "learned", "sinusoidal",
                                                 "relative"};
const std::vector<int64_t> kHeadCounts = {1, 2, 4, 8};
constexpr int64_t kTokenWidth = 32;

/// Three seeds and three learning rates keep an exercise within a minute and a half.
sequences::WaveSizes exercise_sizes(const LabOptions& options) {
  auto sizes = options.smoke ? sequences::smallest_wave_sizes() : sequences::WaveSizes();
  if (!options.smoke) sizes.rates = {3e-3, 1e-2, 3e-2}, sizes.seeds = 3;
  return sizes;
}

/// Steps of 160 values take a while: fewer of them, with one seed.
sequences::WaveSizes lengths_sizes(const LabOptions& options) {
  auto sizes = options.smoke ? sequences::smallest_wave_sizes() : sequences::WaveSizes();
  if (!options.smoke) {
    sizes.train = 1024, sizes.validation = 128, sizes.test = 512;
    sizes.epochs = 10, sizes.trial_epochs = 5;
    sizes.rates = {3e-3, 1e-2, 3e-2};
  }
  sizes.seeds = 1;
  return sizes;
}

std::vector<int64_t> exercise_lengths(const LabOptions& options) {
  return options.smoke ? std::vector<int64_t>{10, 20} : std::vector<int64_t>{10, 20, 40, 80, 160};
}

/// Different steps back at which heads peak.
int64_t distinct_lags(const std::vector<sequences::HeadReading>& heads) {
  std::set<int64_t> lags;
  for (const auto& head : heads) lags.insert(head.lag);
  return static_cast<int64_t>(lags.size());
}

HeadsRow heads_row(int64_t heads, const sequences::TunedRuns& tuned,
                   const sequences::WaveTask& task) {
  HeadsRow row{.heads = heads, .score = sequences::score_runs(tuned, task)};
  std::vector<double> entropies;
  for (const auto& run : tuned.runs) {
    const auto readings = sequences::read_heads(*run.model, task);
    for (const auto& head : readings) entropies.push_back(head.entropy);
    row.distinct_lags += static_cast<double>(distinct_lags(readings)) / tuned.runs.size();
  }
  row.entropy = mean_std(entropies);
  return row;
}

/// A training step on one batch, in milliseconds.
double training_step_time(Model& model, const sequences::WaveTask& task) {
  constexpr double kSeconds = 0.2;
  const auto batch = first_examples(*task.data->train, task.sizes.batch);
  return measure_training(model, batch, {.seconds = kSeconds}).milliseconds;
}

/// The slope of log(milliseconds) over log(length).
double time_exponent(const std::vector<LengthPoint>& points) {
  std::vector<double> x, y;
  for (const auto& point : points) {
    x.push_back(std::log(point.length));
    y.push_back(std::log(point.milliseconds));
  }
  return fitted_slope(x, y);
}

}  // namespace

PositionsExercise train_positions_exercise(const LabOptions& options, const std::string& label,
                                           const std::string& unit) {
  const auto task = sequences::make_wave_task(exercise_sizes(options), options.seed);
  PositionsExercise exercise{.sizes = task.sizes, .last_value = repeated_last_error(*task.data)};
  const auto kinds = static_cast<int64_t>(kPositionKinds.size());
  sequences::WaveRuns runs(options, "positions", label,
                           kinds * sequences::WaveRuns::runs_to_tune(task.sizes), unit);
  for (const auto& kind : kPositionKinds) {
    const auto settings =
        fmt::format("name: wave_transformer, length: {}, positions: {}", task.sizes.length, kind);
    const auto tuned = runs.tune(task, kind, settings);
    std::vector<double> shuffling;
    for (const auto& run : tuned.runs)
      shuffling.push_back(sequences::shuffling_effect(*run.model, task));
    exercise.rows.push_back({kind, sequences::score_runs(tuned, task), mean_std(shuffling)});
  }
  return exercise;
}

HeadsExercise train_heads_exercise(const LabOptions& options, const std::string& label,
                                   const std::string& unit) {
  const auto task = sequences::make_wave_task(exercise_sizes(options), options.seed);
  HeadsExercise exercise{.sizes = task.sizes, .width = kTokenWidth};
  const auto counts = static_cast<int64_t>(kHeadCounts.size());
  sequences::WaveRuns runs(options, "heads", label,
                           counts * sequences::WaveRuns::runs_to_tune(task.sizes), unit);
  for (const auto heads : kHeadCounts) {
    const auto settings = fmt::format("name: wave_transformer, length: {}, dim: {}, heads: {}",
                                      task.sizes.length, kTokenWidth, heads);
    exercise.rows.push_back(
        heads_row(heads, runs.tune(task, std::to_string(heads), settings), task));
  }
  return exercise;
}

LengthsExercise train_lengths_exercise(const LabOptions& options, const std::string& label,
                                       const std::string& unit) {
  const auto sizes = lengths_sizes(options);
  const auto lengths = exercise_lengths(options);
  const auto usual = sequences::make_wave_task(sizes, options.seed);
  LengthsExercise exercise{.sizes = sizes};
  const auto per_network = static_cast<int64_t>(sizes.rates.size() + lengths.size());
  const auto networks = static_cast<int64_t>(sequences::kWaveNetworks.size());
  sequences::WaveRuns runs(options, "rnn", label, networks * per_network, unit);
  for (const auto network : sequences::kWaveNetworks) {
    const auto name = sequences::network_name(network);
    LengthsRow row{.network = network,
                   .rate = sequences::best_rate(runs.try_rates(
                       usual, name, sequences::network_settings(network, sizes.length)))};
    for (const auto length : lengths) {
      auto sizes_here = sizes;
      sizes_here.length = length;
      const auto task = sequences::make_wave_task(sizes_here, options.seed);
      const auto run =
          runs.train(task, fmt::format("{}-{}", name, length),
                     sequences::network_settings(network, length), row.rate, sizes.epochs,
                     /*seed=*/0);
      row.points.push_back(
          {length, run.result.outcome.test_value(), training_step_time(*run.model, task)});
    }
    row.exponent = time_exponent(row.points);
    exercise.rows.push_back(std::move(row));
  }
  return exercise;
}

}  // namespace vitrine::labs::exercises
