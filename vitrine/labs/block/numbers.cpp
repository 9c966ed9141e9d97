#include "vitrine/labs/block/numbers.h"

#include <torch/torch.h>

#include <cmath>
#include <utility>
#include <vector>

#include "vitrine/core/progress.h"
#include "vitrine/data/examples.h"
#include "vitrine/data/waves.h"
#include "vitrine/labs/training.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/feed_forward.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/nn/positional_encoding.h"
#include "vitrine/ops/activation.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/train/trainer.h"

namespace vitrine::labs::block {
namespace {

/// The heads of a layer's attention weights (B, H, T, T), in the mean over the examples.
std::vector<HeadMap> head_maps(const torch::Tensor& weights) {
  const auto mean = weights.mean(0);                                             // (H, T, T)
  const auto entropy = -torch::xlogy(weights, weights).sum(-1).mean(2).mean(0);  // (H)
  const double greatest = std::log(static_cast<double>(weights.size(-1)));
  std::vector<HeadMap> heads;
  for (int64_t head = 0; head < mean.size(0); ++head)
    heads.push_back({plain_matrix(mean[head]), entropy[head].item<double>() / greatest});
  return heads;
}

constexpr int64_t kBlockWidth = 64, kBlockHeads = 4, kBlockHidden = 4 * kBlockWidth;

/// `tokens` (1, T, C).
BlockStep describe_step(const std::string& name, const torch::Tensor& tokens) {
  const auto variance = tokens.var(-1, /*unbiased=*/false);  // (1, T)
  return {.name = name,
          .mean = tokens.mean().item<double>(),
          .variance = variance.mean().item<double>(),
          .least_variance = variance.min().item<double>(),
          .greatest_variance = variance.max().item<double>(),
          .values = plain_values(tokens)};
}

constexpr int64_t kWaveBatch = 64;
constexpr double kDeepRate = 3e-3, kUsualRate = 3e-3, kHighRate = 3e-2;

struct BlockSizes {
  int64_t seeds, epochs, warmup_epochs, layers, train, test;
};

BlockSizes deep_sizes(bool smoke) {
  if (smoke)
    return {.seeds = 1, .epochs = 2, .warmup_epochs = 1, .layers = 2, .train = 128, .test = 64};
  return {.seeds = 2, .epochs = 12, .warmup_epochs = 5, .layers = 6, .train = 1024, .test = 512};
}

BlockSizes activation_sizes(bool smoke) {
  if (smoke)
    return {.seeds = 1, .epochs = 1, .warmup_epochs = 0, .layers = 1, .train = 128, .test = 64};
  return {.seeds = 2, .epochs = 10, .warmup_epochs = 0, .layers = 1, .train = 2048, .test = 512};
}

Splits block_waves(const BlockSizes& sizes, uint64_t seed) {
  return waves(
      {.train = sizes.train, .validation = std::min<int64_t>(sizes.test, 256), .test = sizes.test},
      seed);
}

/// What a network of lab 4 is made of.
std::string block_model(const BlockSizes& sizes, const std::string& place,
                        const std::string& activation) {
  return fmt::format("name: wave_transformer, layers: {}, norm: {}, activation: {}", sizes.layers,
                     place, activation);
}

struct TrainedWave {
  std::shared_ptr<Model> model;
  LabRun run;
};

/// Trains wave networks and shows how many are done.
class WaveTrainer {
 public:
  WaveTrainer(const BlockSizes& sizes, const LabOptions& options, Progress& progress)
      : data(block_waves(sizes, options.seed)),
        sizes_(sizes),
        options_(options),
        progress_(progress) {}

  /// One network per seed.
  std::vector<TrainedWave> train(WaveRecipe wish) {
    wish.batch = kWaveBatch;
    wish.epochs = sizes_.epochs;
    std::vector<TrainedWave> all;
    for (int64_t i = 0; i < sizes_.seeds; ++i) {
      wish.seed = options_.seed + i;
      const auto recipe = recipe_of(wish);
      const auto model = build_for_training(recipe, data);
      const auto folder = options_.folder / "runs" / fmt::format("{}-{}", recipe.name, recipe.seed);
      all.push_back({model, train_in_lab(recipe, model, data, folder)});
      progress_.update(++done_, wish.name);
    }
    return all;
  }

  const Splits data;

 private:
  const BlockSizes sizes_;
  const LabOptions& options_;
  Progress& progress_;
  int64_t done_ = 0;
};

MeanStd test_errors(const std::vector<TrainedWave>& runs) {
  std::vector<double> errors;
  for (const auto& trained : runs) errors.push_back(trained.run.outcome.test_value());
  return mean_std(errors);
}

/// The runs' validation errors, epoch by epoch.
std::vector<MeanStd> validation_errors(const std::vector<TrainedWave>& runs) {
  std::vector<std::vector<double>> curves;
  for (const auto& trained : runs) curves.push_back(trained.run.validation_curve);
  return mean_std_by_index(curves);
}

/// The attention weights of each layer: (B, H, T, T).
std::vector<torch::Tensor> captured_layers(Model& model, const torch::Tensor& inputs) {
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  model.forward(inputs);
  std::vector<torch::Tensor> layers;
  for (const auto& layer : capture.layers) layers.push_back(layer.weights);
  return layers;
}

/// The biases of the hidden units of all feed-forward layers.
std::vector<torch::Tensor> hidden_biases(const Model& model) {
  std::vector<torch::Tensor> biases;
  for (const auto& module : model.modules(/*include_self=*/false))
    if (const auto* mlp = module->as<FeedForwardImpl>()) biases.push_back(mlp->fc1->bias);
  return biases;
}

/// Share of the hidden units of all feed-forward layers whose bias gets no gradient at all.
double dead_share(Model& model, const Batch& batch) {
  model.zero_grad();
  torch::mse_loss(model.forward(batch.inputs), batch.targets).backward();
  double dead = 0, units = 0;
  for (const auto& bias : hidden_biases(model)) {
    dead += bias.grad().eq(0).sum().item<double>();
    units += static_cast<double>(bias.numel());
  }
  return dead / units;
}

int64_t hidden_units(const Model& model) {
  int64_t units = 0;
  for (const auto& bias : hidden_biases(model)) units += bias.numel();
  return units;
}

MeanStd dead_shares(const std::vector<TrainedWave>& runs, const Batch& batch) {
  std::vector<double> shares;
  for (const auto& trained : runs) shares.push_back(dead_share(*trained.model, batch));
  return mean_std(shares);
}

}  // namespace

BlockTrace trace_block(int64_t words, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(seed);
  EncoderBlock block(EncoderBlockConfig{.dim = kBlockWidth,
                                        .heads = kBlockHeads,
                                        .hidden = kBlockHidden,
                                        .norm = NormPosition::Post});
  initialize_transformer(*block);
  const auto embedded = torch::randn({1, words, kBlockWidth});
  const auto x = embedded + sinusoidal_encoding(words, kBlockWidth);  // (1, T, C)
  const auto attended = block->attn(x);
  const auto added = x + attended;
  const auto normed = layer_norm(added, block->norm1);
  const auto fed = block->mlp(normed);
  const auto added_again = normed + fed;
  const auto out = layer_norm(added_again, block->norm2);
  AttentionCapture capture;
  const auto whole = block(x);
  return {.tokens = words,
          .width = kBlockWidth,
          .hidden = kBlockHidden,
          .steps = {describe_step("input", x), describe_step("attention", attended),
                    describe_step("add1", added), describe_step("norm1", normed),
                    describe_step("feed_forward", fed), describe_step("add2", added_again),
                    describe_step("norm2", out)},
          .parts = {{"attention", "4 d² + 4 d", parameter_count(*block->attn)},
                    {"norm1", "2 d", parameter_count(*block->norm1)},
                    {"feed_forward", "8 d² + 5 d", parameter_count(*block->mlp)},
                    {"norm2", "2 d", parameter_count(*block->norm2)}},
          .heads = head_maps(capture.layers.front().weights),
          .difference = greatest_difference(out, whole)};
}

std::vector<ActivationCurve> activation_curves() {
  std::vector<ActivationCurve> curves;
  for (const auto& [name, activation] :
       {std::pair("gelu", Activation::Gelu), std::pair("relu", Activation::Relu)}) {
    const auto x = torch::linspace(-4, 4, 401, torch::kDouble).requires_grad_();
    const auto y = activate(x, activation);
    y.sum().backward();
    const auto lowest = y.argmin().item<int64_t>();
    curves.push_back({.name = name,
                      .x = plain_values(x),
                      .y = plain_values(y),
                      .slope = plain_values(x.grad()),
                      .lowest = y[lowest].item<double>(),
                      .lowest_at = x[lowest].item<double>()});
  }
  return curves;
}

NormTrainings train_norm_places(const LabOptions& options, const std::string& label,
                                const std::string& unit) {
  const auto sizes = deep_sizes(options.smoke);
  Progress progress(label, 4 * sizes.seeds, unit);
  WaveTrainer trainer(sizes, options, progress);
  const auto test = all_examples(*trainer.data.test);
  const auto steps_per_epoch = sizes.train / kWaveBatch;
  NormTrainings result{.layers = sizes.layers,
                       .seeds = sizes.seeds,
                       .warmup_steps = sizes.warmup_epochs * steps_per_epoch,
                       .total_steps = sizes.epochs * steps_per_epoch,
                       .rate = kDeepRate,
                       .constant = test.targets.var(/*unbiased=*/false).item<double>(),
                       .middle_layer = sizes.layers / 2 + 1};
  for (const bool warmup : {true, false})
    for (const char* place : {"pre", "post"}) {
      const auto runs = trainer.train({.name = fmt::format("{}{}", place, warmup ? "-warmup" : ""),
                                       .model = block_model(sizes, place, "gelu"),
                                       .rate = kDeepRate,
                                       .schedule = "constant",
                                       .warmup_epochs = warmup ? sizes.warmup_epochs : 0});
      if (result.first_heads.empty()) {
        const auto layers = captured_layers(*runs.front().model, test.inputs);
        result.first_heads = head_maps(layers.front());
        result.middle_heads = head_maps(layers[result.middle_layer - 1]);
      }
      auto steps = runs.front().run.epochs;
      for (double& step : steps) step *= static_cast<double>(steps_per_epoch);
      result.settings.push_back({.place = place,
                                 .warmup = warmup,
                                 .steps = std::move(steps),
                                 .errors = validation_errors(runs),
                                 .test = test_errors(runs)});
    }
  return result;
}

ActivationTrainings train_activations(const LabOptions& options, const std::string& label,
                                      const std::string& unit) {
  const auto sizes = activation_sizes(options.smoke);
  Progress progress(label, 4 * sizes.seeds, unit);
  WaveTrainer trainer(sizes, options, progress);
  const auto test = all_examples(*trainer.data.test);
  ActivationTrainings result{.seeds = sizes.seeds, .epochs = sizes.epochs};
  for (const double rate : {kUsualRate, kHighRate})
    for (const char* activation : {"gelu", "relu"}) {
      const auto runs = trainer.train({.name = fmt::format("{}-{:g}", activation, rate),
                                       .model = block_model(sizes, "pre", activation),
                                       .rate = rate,
                                       .warmup_epochs = 0});
      result.units = hidden_units(*runs.front().model);
      result.settings.push_back({.activation = activation,
                                 .rate = rate,
                                 .test = test_errors(runs),
                                 .dead = dead_shares(runs, test)});
    }
  return result;
}

}  // namespace vitrine::labs::block
