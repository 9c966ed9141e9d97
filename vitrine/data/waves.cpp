#include "vitrine/data/waves.h"

#include <torch/torch.h>

#include <cmath>
#include <numbers>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/data/config.h"
#include "vitrine/data/tensor_batches.h"

namespace vitrine {
namespace {

constexpr uint64_t kWaveKey = 0x77617665;  // apart from the keys of examples and epochs

std::unique_ptr<BatchSource> wave_split(const WaveOptions& o, uint64_t seed, Split split,
                                        int64_t count) {
  auto inputs = torch::empty({count, o.length}), targets = torch::empty({count});
  auto* in = inputs.data_ptr<float>();
  auto* target = targets.data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    Random random{seed, kWaveKey, static_cast<uint64_t>(split), static_cast<uint64_t>(i)};
    const double amplitude = random.uniform(0.5, 1.5), frequency = random.uniform(0.2, 1.0),
                 phase = random.uniform(0, 2 * std::numbers::pi);
    const auto value = [&](int64_t t) {
      return amplitude * std::sin(frequency * static_cast<double>(t) + phase);
    };
    for (int64_t t = 0; t < o.length; ++t)
      *in++ = static_cast<float>(value(t) + (o.noise > 0 ? o.noise * random.normal() : 0));
    *target++ = static_cast<float>(value(o.length));
  }
  return std::make_unique<TensorBatches>(inputs, targets);
}

struct WaveSettings {
  int64_t length = WaveOptions().length;
  double noise = WaveOptions().noise;

  void visit(Fields& f) {
    f("length", length, "length of the input sequence");
    f("noise", noise, "standard deviation of the noise added to the inputs");
  }
  void validate() const { WaveOptions{.length = length, .noise = noise}.validate(); }
};

class WaveData : public DatasetOf<WaveData, WaveSettings> {
 public:
  Splits splits(const DataConfig& config, uint64_t seed) const override {
    WaveOptions options{.length = settings.length, .noise = settings.noise};
    if (config.limit > 0) options.train = std::min(options.train, config.limit);
    return waves(options, seed);
  }
};

}  // namespace

void WaveOptions::validate() const {
  check(length >= 2, "waves: length {} is too short to predict the next value; take at least 2",
        length);
  check(train > 0 && validation > 0 && test > 0,
        "waves: train {}, validation {} and test {} must be positive", train, validation, test);
  check(noise >= 0, "waves: noise {} is negative", noise);
}

Splits waves(const WaveOptions& options, uint64_t seed) {
  options.validate();
  Splits splits;
  splits.task = Task::NextValue;
  splits.train = wave_split(options, seed, Split::Train, options.train);
  splits.validation = wave_split(options, seed, Split::Validation, options.validation);
  splits.test = wave_split(options, seed, Split::Test, options.test);
  return splits;
}

DatasetEntry waves_dataset() {
  return {"random sine waves for next-value prediction; nothing to fetch",
          std::make_shared<WaveData>()};
}

}  // namespace vitrine
