#include "vitrine/labs/sequences/runs.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/examples.h"
#include "vitrine/data/waves.h"
#include "vitrine/labs/training.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/train/trainer.h"

namespace vitrine::labs::sequences {
namespace {

/// The squared error of every test wave: (B).
torch::Tensor squared_errors(Model& model, const Batch& test) {
  const torch::NoGradGuard no_grad;
  model.eval();
  return (model.forward(test.inputs) - test.targets).square();
}

/// The mean over the runs, place by place.
std::vector<double> mean_curve(const std::vector<WaveRun>& runs) {
  std::vector<double> mean(runs.front().result.validation_curve.size());
  for (const auto& run : runs)
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] += run.result.validation_curve[i] / static_cast<double>(runs.size());
  return mean;
}

}  // namespace

std::string network_name(WaveNetwork network) {
  switch (network) {
    case WaveNetwork::Transformer:
      return "transformer";
    case WaveNetwork::Rnn:
      return "rnn";
    case WaveNetwork::Lstm:
      return "lstm";
    case WaveNetwork::Gru:
      return "gru";
  }
  fail("waves: network {} has no name", static_cast<int>(network));
}

std::string network_settings(WaveNetwork network, int64_t length) {
  if (network == WaveNetwork::Transformer)
    return fmt::format("name: wave_transformer, length: {}", length);
  return fmt::format("name: wave_rnn, cell: {}", network_name(network));
}

WaveSizes smallest_wave_sizes() {
  return {.train = 128,
          .validation = 64,
          .test = 64,
          .batch = 64,
          .epochs = 2,
          .trial_epochs = 1,
          .rates = {3e-3, 1e-2},
          .seeds = 2};
}

WaveTask make_wave_task(const WaveSizes& sizes, uint64_t seed) {
  return {sizes, std::make_shared<const Splits>(waves({.length = sizes.length,
                                                       .train = sizes.train,
                                                       .validation = sizes.validation,
                                                       .test = sizes.test},
                                                      seed))};
}

Batch test_waves(const WaveTask& task) { return all_examples(*task.data->test); }

WaveRuns::WaveRuns(const LabOptions& options, std::string topic, const std::string& label,
                   int64_t runs, const std::string& unit)
    : folder_(options.folder / "runs"),
      topic_(std::move(topic)),
      first_seed_(options.seed),
      progress_(label, runs, unit) {}

int64_t WaveRuns::runs_to_tune(const WaveSizes& sizes) {
  return static_cast<int64_t>(sizes.rates.size()) + sizes.seeds;
}

WaveRun WaveRuns::train(const WaveTask& task, const std::string& name, const std::string& settings,
                        double rate, int64_t epochs, int64_t seed) {
  const auto recipe = recipe_of({.name = fmt::format("{}-{}", topic_, name),
                                 .model = settings,
                                 .length = task.sizes.length,
                                 .batch = task.sizes.batch,
                                 .epochs = epochs,
                                 .rate = rate,
                                 .clip = 1,
                                 .seed = first_seed_ + static_cast<uint64_t>(seed)});
  WaveRun run{.model = build_for_training(recipe, *task.data)};
  run.result = train_in_lab(recipe, run.model, *task.data,
                            folder_ / fmt::format("{}-{:03}", recipe.name, done_));
  progress_.update(++done_, name);
  return run;
}

std::vector<RateTrial> WaveRuns::try_rates(const WaveTask& task, const std::string& name,
                                           const std::string& settings) {
  std::vector<RateTrial> trials;
  for (const double rate : task.sizes.rates) {
    const auto run = train(task, name, settings, rate, task.sizes.trial_epochs, /*seed=*/0);
    trials.push_back({rate, run.result.outcome.validation_value()});
  }
  return trials;
}

TunedRuns WaveRuns::tune(const WaveTask& task, const std::string& name,
                         const std::string& settings) {
  TunedRuns tuned{.trials = try_rates(task, name, settings)};
  tuned.rate = best_rate(tuned.trials);
  for (int64_t seed = 0; seed < task.sizes.seeds; ++seed)
    tuned.runs.push_back(train(task, name, settings, tuned.rate, task.sizes.epochs, seed));
  return tuned;
}

double best_rate(const std::vector<RateTrial>& trials) {
  return std::min_element(
             trials.begin(), trials.end(),
             [](const auto& one, const auto& other) { return one.validation < other.validation; })
      ->rate;
}

WaveScore score_runs(const TunedRuns& tuned, const WaveTask& task) {
  const auto test = test_waves(task);
  const auto count = static_cast<double>(tuned.runs.size());
  WaveScore score{.trials = tuned.trials,
                  .rate = tuned.rate,
                  .parameters = parameter_count(*tuned.runs.front().model),
                  .epochs = tuned.runs.front().result.epochs,
                  .curve = mean_curve(tuned.runs)};
  for (const auto& run : tuned.runs) {
    const auto errors = squared_errors(*run.model, test);
    score.mse.push_back(errors.mean().item<double>());
    score.example_spread += errors.std().item<double>() / count;
    score.seconds += run.result.outcome.seconds / count;
  }
  score.error = mean_std(score.mse);
  return score;
}

}  // namespace vitrine::labs::sequences
