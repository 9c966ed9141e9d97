#include "vitrine/labs/positions_training.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/waves.h"
#include "vitrine/labs/plain_values.h"
#include "vitrine/labs/training.h"
#include "vitrine/labs/wave_recipe.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/trainer.h"

namespace vitrine::labs {
namespace {

constexpr int64_t kLongest = 40;
constexpr int64_t kFewestPairs = 5;  // of positions at a distance, for a mean
const std::vector<int64_t> kTestedLengths = {20, 22, 25, 30, kLongest};

struct PositionSizes {
  int64_t seeds, epochs, train, test;
};

PositionSizes position_sizes(bool smoke) {
  if (smoke) return {.seeds = 1, .epochs = 1, .train = 128, .test = 64};
  return {.seeds = 3, .epochs = 12, .train = 2048, .test = 1024};
}

Splits waves_of_length(int64_t length, const PositionSizes& sizes, uint64_t seed) {
  return waves({.length = length,
                .train = sizes.train,
                .validation = std::min<int64_t>(sizes.test, 256),
                .test = sizes.test},
               seed);
}

struct TrainedSetting {
  std::string name;
  std::string positions, norm = "post";
};

const std::vector<TrainedSetting>& trained_settings() {
  static const std::vector<TrainedSetting> settings = {
      {"none", "none"},     {"sinusoidal", "sinusoidal"}, {"learned", "learned"},
      {"linear", "linear"}, {"relative", "relative"},     {"linear_pre", "linear", "pre"}};
  return settings;
}

/// Tables must reach over the longest wave; relative positions and none need no table, and the
/// former shall know only the distances of training.
Recipe position_recipe(const TrainedSetting& setting, int64_t epochs, uint64_t seed) {
  const bool table = setting.positions != "none" && setting.positions != "relative";
  return recipe_of({.name = "positions-" + setting.name,
                    .model = fmt::format(
                        "name: wave_transformer, length: {}, positions: {}, norm: {}",
                        table ? kLongest : kTestedLengths.front(), setting.positions, setting.norm),
                    .epochs = epochs,
                    .seed = seed});
}

double wave_error(Model& model, const Splits& data) {
  const auto objective = make_objective(data, /*label_smoothing=*/0);
  return evaluate(model, *data.test, *objective, {}).loss;
}

double repeated_last_error(const BatchSource& source) {
  const auto batch = all_examples(source);
  return torch::mse_loss(batch.inputs.select(1, -1), batch.targets).item<double>();
}

/// Of the positions that were trained: mean cosine by distance 1, 2, ...
std::vector<double> learned_cosines(const Model& model) {
  const auto table = model.position_table().squeeze(0).narrow(0, 0, kTestedLengths.front());
  std::vector<double> cosines;
  for (int64_t distance = 1; table.size(0) - distance >= kFewestPairs; ++distance) {
    const auto pairs = table.size(0) - distance;
    cosines.push_back(
        torch::cosine_similarity(table.narrow(0, 0, pairs), table.narrow(0, distance, pairs), -1)
            .mean()
            .item<double>());
  }
  return cosines;
}

/// The bias of the first attention layer by steps back, 0 first: (heads, steps).
plot::Matrix backward_bias(Model& model) {
  for (const auto& module : model.modules())
    if (const auto* attention = module->as<AttentionImpl>())
      return plain_matrix(
          attention->relative_bias.narrow(1, 0, attention->config.max_relative_distance + 1)
              .flip(1)
              .narrow(1, 0, kTestedLengths.front()));
  fail("lab 3: the model has no attention layer");
}

}  // namespace

TrainedPositions train_positions(const LabOptions& options, const std::string& label,
                                 const std::string& unit) {
  const auto sizes = position_sizes(options.smoke);
  std::vector<Splits> data;
  for (const auto length : kTestedLengths)
    data.push_back(waves_of_length(length, sizes, options.seed));
  TrainedPositions result{.lengths = kTestedLengths,
                          .repeated_last = repeated_last_error(*data.front().test),
                          .seeds = sizes.seeds,
                          .epochs = sizes.epochs,
                          .waves = sizes.train};
  const auto runs = static_cast<int64_t>(trained_settings().size()) * sizes.seeds;
  Progress progress(label, runs, unit);
  int64_t done = 0;
  for (const auto& setting : trained_settings()) {
    TrainedKind trained{.kind = setting.name,
                        .errors = std::vector<std::vector<double>>(data.size())};
    for (int64_t run = 0; run < sizes.seeds; ++run) {
      const auto recipe = position_recipe(setting, sizes.epochs, options.seed + run);
      const auto model = build_for_training(recipe, data.front());
      const bool first = run == 0;
      if (first && setting.name == "learned") result.learned_before = learned_cosines(*model);
      train_in_lab(recipe, model, data.front(),
                   options.folder / "runs" / fmt::format("{}-{}", recipe.name, recipe.seed));
      for (size_t i = 0; i < data.size(); ++i)
        trained.errors[i].push_back(wave_error(*model, data[i]));
      if (first && setting.name == "learned") result.learned_after = learned_cosines(*model);
      if (first && setting.name == "relative") result.bias = backward_bias(*model);
      progress.update(++done, setting.name);
    }
    result.kinds.push_back(std::move(trained));
  }
  return result;
}

}  // namespace vitrine::labs
