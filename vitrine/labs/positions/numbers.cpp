#include "vitrine/labs/positions/numbers.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/examples.h"
#include "vitrine/data/waves.h"
#include "vitrine/labs/training.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/nn/positional_encoding.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/trainer.h"

namespace vitrine::labs::positions {
namespace {

constexpr int64_t kOrderWidth = 32, kOrderHeads = 4;
struct OrderKind {
  const char* name;
  PositionalEncoding positions;
  NormPosition norm;
};
constexpr std::array<OrderKind, 6> kOrderKinds = {
    {{"none", PositionalEncoding::None, NormPosition::Post},
     {"sinusoidal", PositionalEncoding::Sinusoidal, NormPosition::Post},
     {"learned", PositionalEncoding::Learned, NormPosition::Post},
     {"linear", PositionalEncoding::Linear, NormPosition::Post},
     {"relative", PositionalEncoding::Relative, NormPosition::Post},
     {"linear_pre", PositionalEncoding::Linear, NormPosition::Pre}}};
constexpr double kSameValue = 1e-6;
constexpr int64_t kMiddle = kTrainedPositions / 2;

/// Learned positions as they are before training: (tokens, dim).
torch::Tensor untrained_table(int64_t tokens, int64_t dim, uint64_t seed) {
  torch::manual_seed(seed);
  torch::nn::Module owner;
  const PositionEmbedding positions(owner,
                                    sequence_positions(PositionalEncoding::Learned, tokens, dim));
  return positions.table().squeeze(0).detach();
}

OrderEffect order_effect(const OrderKind& kind, const torch::Tensor& words, uint64_t seed) {
  const auto T = words.size(1);
  const bool relative = kind.positions == PositionalEncoding::Relative;
  torch::manual_seed(seed);
  EncoderBlock block(EncoderBlockConfig{.dim = kOrderWidth,
                                        .heads = kOrderHeads,
                                        .hidden = 4 * kOrderWidth,
                                        .norm = kind.norm,
                                        .max_relative_distance = relative ? T - 1 : 0});
  initialize_transformer(*block);
  torch::nn::Module owner;
  const PositionEmbedding positions(owner, sequence_positions(kind.positions, T, kOrderWidth));
  block->to(torch::kDouble);
  if (relative)  // it starts at 0, which says nothing yet
    block->attn->as<Attention>()->relative_bias.normal_();
  const auto outputs = [&](const torch::Tensor& x) {
    const auto y = block(positions(x)).squeeze(0);
    // A network of pre-norm blocks ends with a norm.
    return kind.norm == NormPosition::Pre ? torch::layer_norm(y, {kOrderWidth}) : y;
  };
  const auto sentence = outputs(words), reversed = outputs(words.flip(1)).flip(0);
  return {.kind = kind.name,
          .sentence = plain_matrix(sentence),
          .reversed = plain_matrix(reversed),
          .word_change = greatest_difference(sentence, reversed),
          .mean_change = greatest_difference(sentence.mean(0), reversed.mean(0))};
}

int64_t distinct_rows(const torch::Tensor& table) {
  const auto distance = (table.unsqueeze(0) - table.unsqueeze(1)).abs().amax(-1);  // (T, T)
  return (distance.le(kSameValue).sum(-1) == 1).sum().item<int64_t>();
}

Encoding describe_encoding(const std::string& kind, const torch::Tensor& table) {
  const auto middle = table[kMiddle];
  return {.kind = kind,
          .table = plain_matrix(table),
          .low = table.min().item<double>(),
          .high = table.max().item<double>(),
          .distinct = distinct_rows(table),
          .norms = plain_values(table.norm(2, -1)),
          .to_middle = plain_values(table.matmul(middle) / middle.dot(middle))};
}

/// The cosines of all pairs of rows at `distance`.
torch::Tensor cosines_at(const torch::Tensor& table, int64_t distance) {
  const auto count = table.size(0) - distance;
  return torch::cosine_similarity(table.narrow(0, 0, count), table.narrow(0, distance, count), -1);
}

/// Turns each pair of channels by `shift` times its frequency: (C, C).
torch::Tensor rotation_matrix(int64_t dim, int64_t shift) {
  auto matrix = torch::zeros({dim, dim}, torch::kDouble);
  auto cells = matrix.accessor<double, 2>();
  for (int64_t i = 0; i < dim; i += 2) {
    const double angle = shift / std::pow(1e4, static_cast<double>(i) / dim);
    cells[i][i] = cells[i + 1][i + 1] = std::cos(angle);
    cells[i][i + 1] = std::sin(angle);
    cells[i + 1][i] = -std::sin(angle);
  }
  return matrix;
}

/// |error| / |PE| at odd positions, of the matrix that fits the even ones best.
double shift_error(const torch::Tensor& table, int64_t shift) {
  const auto from = table.narrow(0, 0, table.size(0) - shift).to(torch::kDouble);
  const auto to = table.narrow(0, shift, table.size(0) - shift).to(torch::kDouble);
  const auto every_second = [](const torch::Tensor& t, int64_t first) {
    return t.slice(0, first, t.size(0), 2);
  };
  // Slow channels are nearly alike; what lies below the table's rounding is no information.
  const auto inverse = torch::pinverse(every_second(from, 0), /*rcond=*/1e-6);
  const auto matrix = inverse.matmul(every_second(to, 0));
  const auto wanted = every_second(to, 1);
  return ((every_second(from, 1).matmul(matrix) - wanted).norm() / wanted.norm()).item<double>();
}

Extrapolation describe_extrapolation(const std::string& kind, const torch::Tensor& table) {
  const auto trained = table.narrow(0, 0, kTrainedPositions);
  const auto beyond = table.narrow(0, kTrainedPositions, table.size(0) - kTrainedPositions);
  const auto outside =
      beyond.lt(trained.amin(0) - kSameValue).logical_or(beyond.gt(trained.amax(0) + kSameValue));
  return {.kind = kind,
          .trained_low = trained.min().item<double>(),
          .trained_high = trained.max().item<double>(),
          .low = beyond.min().item<double>(),
          .high = beyond.max().item<double>(),
          .outside = outside.to(torch::kDouble).mean().item<double>(),
          .distinct = distinct_rows(table) - distinct_rows(trained)};
}

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
  const auto objective = make_objective(data, ObjectiveSettings(/*smoothing=*/0));
  return evaluate(model, *data.test, *objective, {}).loss;
}

/// Of the positions that were trained: mean cosine by distance 1, 2, ...
std::vector<double> learned_cosines(const Model& model) {
  const auto table = model.position_table().squeeze(0).narrow(0, 0, kTestedLengths.front());
  std::vector<double> cosines;
  for (int64_t distance = 1; table.size(0) - distance >= kFewestPairs; ++distance)
    cosines.push_back(cosines_at(table, distance).mean().item<double>());
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

std::vector<OrderEffect> order_effects(int64_t words, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(seed);
  const auto embedded = torch::randn({1, words, kOrderWidth}, torch::kDouble);
  std::vector<OrderEffect> effects;
  for (const auto& kind : kOrderKinds) effects.push_back(order_effect(kind, embedded, seed + 1));
  return effects;
}

std::vector<Encoding> encodings(uint64_t seed) {
  const auto T = kTrainedPositions, C = kEncodingWidth;
  return {describe_encoding("sinusoidal", sinusoidal_encoding(T, C)),
          describe_encoding("learned", untrained_table(T, C, seed)),
          describe_encoding("linear", linear_encoding(T, C))};
}

plot::Matrix clamped_distances(int64_t positions) {
  plot::Matrix distances{positions, positions, {}};
  for (int64_t i = 0; i < positions; ++i)
    for (int64_t j = 0; j < positions; ++j)
      distances.values.push_back(std::clamp<int64_t>(j - i, -kFarthestBias, kFarthestBias));
  return distances;
}

Similarity position_similarity(uint64_t seed) {
  const auto C = kEncodingWidth;
  const auto sinusoidal = sinusoidal_encoding(kAllPositions, C);
  const auto learned = untrained_table(kAllPositions, C, seed);
  const auto linear = linear_encoding(kAllPositions, C).slice(0, 1);  // position 0 has no direction
  Similarity result;
  const auto shown = sinusoidal.narrow(0, 0, kTrainedPositions);
  result.sinusoidal = plain_matrix(shown.matmul(shown.t()) / (C / 2.0));
  for (const int64_t distance : {1, 2, 4, 8, 16, 32, 64, 128})
    result.rows.push_back({.distance = distance,
                           .sinusoidal = cosines_at(sinusoidal, distance).mean().item<double>(),
                           .learned = cosines_at(learned, distance).mean().item<double>(),
                           .linear = cosines_at(linear, distance).mean().item<double>()});
  for (int64_t distance = 0; distance <= kTrainedPositions; ++distance) {
    const auto cosines = cosines_at(sinusoidal, distance);
    const auto mean = cosines.mean();
    result.by_distance.push_back(mean.item<double>());
    result.spread = std::max(result.spread, (cosines - mean).abs().max().item<double>());
  }
  return result;
}

std::vector<RotatedPair> rotated_pairs(int64_t position, int64_t shift) {
  const auto C = kEncodingWidth;
  const auto table = sinusoidal_encoding(position + shift + 1, C).to(torch::kDouble);
  const auto rotated = rotation_matrix(C, shift).matmul(table[position]);
  std::vector<RotatedPair> pairs;
  for (const int64_t pair : {0, 4, 8, 16}) {
    const auto at = [&](const torch::Tensor& row) {
      return std::array<double, 2>{row[2 * pair].item<double>(), row[2 * pair + 1].item<double>()};
    };
    pairs.push_back({.pair = pair,
                     .angle = shift / std::pow(1e4, 2.0 * pair / C),
                     .before = at(table[position]),
                     .rotated = at(rotated),
                     .after = at(table[position + shift])});
  }
  return pairs;
}

std::vector<ShiftFit> shift_fits(const std::vector<int64_t>& shifts, uint64_t seed) {
  const auto T = kAllPositions, C = kEncodingWidth;
  const auto sinusoidal = sinusoidal_encoding(T, C), learned = untrained_table(T, C, seed),
             linear = linear_encoding(T, C);
  std::vector<ShiftFit> fits;
  for (const auto shift : shifts) {
    const auto from = sinusoidal.narrow(0, 0, T - shift).to(torch::kDouble);
    const auto rotated = from.matmul(rotation_matrix(C, shift).t());
    fits.push_back({.shift = shift,
                    .rotation = greatest_difference(rotated, sinusoidal.slice(0, shift)),
                    .sinusoidal = shift_error(sinusoidal, shift),
                    .learned = shift_error(learned, shift),
                    .linear = shift_error(linear, shift)});
  }
  return fits;
}

std::vector<Extrapolation> extrapolations() {
  const auto T = kAllPositions, C = kEncodingWidth;
  // The linear one goes on with the step that it had in training: pos / kTrainedPositions.
  const auto stretched = linear_encoding(T, C) * (static_cast<double>(T) / kTrainedPositions);
  return {describe_extrapolation("sinusoidal", sinusoidal_encoding(T, C)),
          describe_extrapolation("linear", stretched)};
}

TrainedPositions train_positions(const LabOptions& options, const std::string& label,
                                 const std::string& unit) {
  const auto sizes = position_sizes(options.smoke);
  std::vector<Splits> data;
  for (const auto length : kTestedLengths)
    data.push_back(waves_of_length(length, sizes, options.seed));
  TrainedPositions result{.lengths = kTestedLengths,
                          .repeated_last = repeated_last_error(data.front()),
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

}  // namespace vitrine::labs::positions
