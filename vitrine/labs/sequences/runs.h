#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/mean_std.h"
#include "vitrine/core/progress.h"
#include "vitrine/labs/lab.h"
#include "vitrine/labs/training.h"

namespace vitrine {
class Model;
struct Batch;
struct Splits;
}  // namespace vitrine

namespace vitrine::labs::sequences {

/// What gives the next value of a wave. Its name is a key of the texts: "transformer".
enum class WaveNetwork { Transformer, Rnn, Lstm, Gru };
inline constexpr std::array kWaveNetworks = {WaveNetwork::Transformer, WaveNetwork::Rnn,
                                             WaveNetwork::Lstm, WaveNetwork::Gru};
std::string network_name(WaveNetwork network);

/// What a recipe sets in its `model` part, as YAML: "name: wave_rnn, cell: lstm".
std::string network_settings(WaveNetwork network, int64_t length);

/// Sizes of the waves and of the training on them.
struct WaveSizes {
  int64_t length = 20;                                  // values that a network sees
  int64_t train = 2048, validation = 256, test = 1024;  // waves of each part
  int64_t batch = 64;
  int64_t epochs = 16;
  int64_t trial_epochs = 6;  // of the runs that look for a learning rate
  std::vector<double> rates = {3e-3, 1e-2, 3e-2, 1e-1};
  int64_t seeds = 5;
};

/// The same with all sizes as small as can be.
WaveSizes smallest_wave_sizes();

/// Waves that networks learn from, and how long they learn.
struct WaveTask {
  WaveSizes sizes;
  std::shared_ptr<const Splits> data;
};
WaveTask make_wave_task(const WaveSizes& sizes, uint64_t seed);

/// The whole test part: inputs (B, T), targets (B).
Batch test_waves(const WaveTask& task);

struct RateTrial {
  double rate = 0;
  double validation = 0;  // mean squared error on the validation part
};

/// A network that has learned.
struct WaveRun {
  LabRun result{};
  std::shared_ptr<Model> model{};
};

/// A network trained with several seeds at the best of several learning rates.
struct TunedRuns {
  std::vector<RateTrial> trials{};
  double rate = 0;
  std::vector<WaveRun> runs{};
};

/// Trains networks one after the other and shows how many of all runs are done.
class WaveRuns {
 public:
  /// `topic` begins the names of the run folders; `label` and `unit` name the progress.
  WaveRuns(const LabOptions& options, std::string topic, const std::string& label, int64_t runs,
           const std::string& unit);

  /// Runs that `tune` takes.
  static int64_t runs_to_tune(const WaveSizes& sizes);
  /// Looks for the learning rate in short runs, then trains with every seed. `name` names the
  /// network beside the progress, `settings` are those of the recipe's model.
  TunedRuns tune(const WaveTask& task, const std::string& name, const std::string& settings);
  /// Only the short runs, one per learning rate.
  std::vector<RateTrial> try_rates(const WaveTask& task, const std::string& name,
                                   const std::string& settings);
  /// One run; `seed` counts from 0.
  WaveRun train(const WaveTask& task, const std::string& name, const std::string& settings,
                double rate, int64_t epochs, int64_t seed);

 private:
  fs::path folder_;
  std::string topic_;
  uint64_t first_seed_;
  Progress progress_;
  int64_t done_ = 0;
};

/// The rate of the trial with the least error.
double best_rate(const std::vector<RateTrial>& trials);

/// What the runs of one network came to.
struct WaveScore {
  std::vector<RateTrial> trials{};
  double rate = 0;
  std::vector<double> mse{};  // on the test part, per seed
  MeanStd error{};            // of `mse`
  double example_spread = 0;  // standard deviation of the squared error over test waves
  int64_t parameters = 0;
  double seconds = 0;                     // of training, mean over the runs
  std::vector<double> epochs{}, curve{};  // error on the validation part, mean over the runs
};
WaveScore score_runs(const TunedRuns& tuned, const WaveTask& task);

}  // namespace vitrine::labs::sequences
