#include "vitrine/inspect/explain.h"

#include <torch/torch.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"
#include "vitrine/data/color.h"
#include "vitrine/data/geometry.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/top_predictions.h"
#include "vitrine/inspect/explain/filters.h"
#include "vitrine/inspect/explain/gradient_pass.h"
#include "vitrine/inspect/explain/perturbation.h"
#include "vitrine/inspect/rollout.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

constexpr int64_t kPredictions = 5, kFollowed = 3, kFilters = 28;

/// The square that evaluation cuts out, with all its pixels.
Image seen_part(const Image& image, const Preprocess& how) {
  if (how.stretch) {
    const auto square = std::max(how.image, std::min(image.width, image.height));
    return with_channels(resize(image, square, square, how.interpolation), how.channels);
  }
  const auto side = std::min(image.width, image.height) * how.image / how.resize;
  return with_channels(centre_crop(image, std::max<int64_t>(1, side)), how.channels);
}

/// Shares of the map's own tokens. A map of zeros stays one.
AttentionMap map_of_shares(const torch::Tensor& map) {
  const auto values = map.to(torch::kDouble);
  const auto tokens = values.numel();
  if (values.sum().item<double>() <= 0) return {plain_matrix(torch::zeros_like(values)), tokens, 1};
  const auto shares = values / values.sum();
  const auto entropy = -torch::xlogy(shares, shares).sum().item<double>();
  return {plain_matrix(shares * tokens), tokens,
          tokens > 1 ? entropy / std::log(static_cast<double>(tokens)) : 1};
}

/// The class that the user means: by its name, or by its index if no class has such a name.
std::optional<int64_t> class_index(const std::string& target,
                                   const std::vector<std::string>& classes) {
  if (target.empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(classes.size());
  if (const auto found = std::find(classes.begin(), classes.end(), target); found != classes.end())
    return found - classes.begin();
  int64_t index = -1;
  const auto* end = target.data() + target.size();
  const auto [rest, error] = std::from_chars(target.data(), end, index);
  if (error == std::errc() && rest == end && index >= 0 && index < count) return index;
  fail_usage(
      "explain: the model has no class '{}'; give the name of one of its {} classes or an "
      "index from 0 to {}{}",
      target, count, count - 1, did_you_mean(target, classes));
}

/// What the attention layers did.
void describe_attention(Explanation& e, const GradientPass& pass) {
  const auto& grid = pass.layers.front().queries;
  e.class_token = grid.prefix > 0;
  e.readout = pass.readout_kind;
  e.rows = grid.rows;
  e.columns = grid.columns;
  for (const auto& layer : pass.layers) {
    auto& heads = e.heads.emplace_back();
    auto& distances = e.distances.emplace_back();
    const auto maps = head_maps(layer)[0], entropies = head_entropy(layer)[0];
    const auto pixels = head_distance(layer, e.input)[0];
    for (int64_t h = 0; h < maps.size(0); ++h) {
      heads.push_back({plain_matrix(maps[h] * layer.keys.tokens()), layer.keys.tokens(),
                       entropies[h].item<double>()});
      distances.push_back(pixels[h].item<double>());
    }
    e.uniform_distances.push_back(uniform_distance(layer.queries, layer.keys, e.input));
  }
  if (pass.readout_kind == Readout::Weighted)
    e.pooling = map_of_shares(as_map(pass.readout[0], pass.layers.back().queries));
}

/// Where the features lie: as the last attention layer, or else the model, says.
std::optional<TokenGrid> feature_grid(const GradientPass& pass,
                                      const std::optional<ImageTokens>& tokens) {
  if (!pass.features.defined() || !pass.feature_gradient.defined()) return std::nullopt;
  if (pass.features.dim() == 4) return TokenGrid{pass.features.size(2), pass.features.size(3)};
  const auto T = pass.features.size(1);
  if (!pass.layers.empty() && pass.layers.back().queries.tokens() == T)
    return pass.layers.back().queries;
  if (tokens && tokens->rows * tokens->columns <= T)
    return TokenGrid{tokens->rows, tokens->columns, T - tokens->rows * tokens->columns};
  return std::nullopt;
}

/// The maps of the methods asked for, or of all that the model has.
void add_maps(Explanation& e, const GradientPass& pass, const ExplainConfig& config) {
  const auto wanted = [&](ExplainMethod method) {
    return config.methods.empty() ||
           std::find(config.methods.begin(), config.methods.end(), method) != config.methods.end();
  };
  const auto grid = feature_grid(pass, e.tokens);
  for (const auto& [name, method] : explain_method_names()) {
    if (!wanted(method)) continue;
    const bool has = method == ExplainMethod::GradCam ? grid.has_value() : !pass.layers.empty();
    check(has || config.methods.empty(), "explain: {} has no {}: {}; leave out --method {}",
          e.model, method_title(method),
          method == ExplainMethod::GradCam ? "it does not show its features" : e.no_attention,
          name);
    if (!has) continue;
    if (method == ExplainMethod::Rollout) {
      const auto rollout = attention_rollout(pass.layers, pass.readout, config.rollout)[0];
      e.rollout_kept = std::max(0.0, 1 - rollout.sum().item<double>());
      e.maps.push_back({method, map_of_shares(rollout)});
    } else if (method == ExplainMethod::Relevance) {
      const auto relevance =
          attention_relevance(pass.layers, pass.gradients, relevance_readout(pass));
      e.maps.push_back({method, map_of_shares(relevance[0])});
    } else {
      e.maps.push_back(
          {method, map_of_shares(grad_cam(pass.features, pass.feature_gradient, *grid)[0])});
    }
  }
  check(!e.maps.empty(), "explain: {} has neither attention weights ({}) nor features to show",
        e.model, e.no_attention);
}

/// The explained class and the most likely ones, behind every block.
LogitLens lens_of(Model& model, const torch::Tensor& x, const Explanation& e,
                  const std::vector<std::string>& classes) {
  LogitLens lens{.followed = {e.target}};
  for (const auto& p : e.predictions)
    if (std::ssize(lens.followed) < kFollowed && p.index != e.target.index)
      lens.followed.push_back(p);
  for (const auto& logits : lens_logits(model, x)) {
    LensLayer layer{.best = top_predictions(logits, classes, 1)[0][0]};
    const auto probabilities = logits.softmax(1)[0].to(torch::kDouble);
    for (const auto& p : lens.followed)
      layer.probabilities.push_back(probabilities[p.index].item<double>());
    lens.layers.push_back(std::move(layer));
  }
  return lens;
}

/// What is the same for every image.
void describe_weights(Explanation& e, Model& model) {
  const auto table = model.position_table();  // (1, T, C)
  const auto cells = e.rows * e.columns;
  if (table.defined() && cells > 0 && table.size(1) >= cells)
    e.positions =
        plain_matrix(position_similarity(table, {e.rows, e.columns, table.size(1) - cells}));
  if (const auto filters = model.input_filters(); filters.defined())
    e.filters = filter_components(filters, kFilters);
}

}  // namespace

const AttentionMap* Explanation::map(ExplainMethod method) const {
  const auto found = std::find_if(maps.begin(), maps.end(),
                                  [&](const auto& entry) { return entry.method == method; });
  return found == maps.end() ? nullptr : &found->map;
}

Explanation explain(const LoadedCheckpoint& checkpoint, const Image& image,
                    const ExplainConfig& config) {
  const auto& [model, info] = checkpoint;
  check(model->image_shape().has_value(),
        "explain: {} does not take images; explain an image classifier, such as vit_c10_small",
        info.model.name());
  config.rollout.validate();
  const auto target = class_index(config.target, info.classes);
  const auto x = preprocess(image, *info.preprocess).unsqueeze(0);
  const auto pass = gradient_pass(*model, x, target);
  const torch::NoGradGuard no_grad;
  Explanation e{.model = info.model.name(),
                .image = seen_part(image, *info.preprocess),
                .input = model->image_shape()->image,
                .predictions = top_predictions(pass.logits, info.classes, kPredictions)[0],
                .rollout = config.rollout,
                .tokens = model->image_tokens(),
                .no_attention = pass.no_attention};
  const auto index = pass.targets[0];
  e.target = {info.classes[index], index,
              pass.logits.softmax(1)[0][index].to(torch::kDouble).item<double>()};
  if (e.tokens) {
    e.rows = e.tokens->rows;
    e.columns = e.tokens->columns;
  }
  if (!pass.layers.empty()) describe_attention(e, pass);
  add_maps(e, pass, config);
  e.lens = lens_of(*model, x, e, info.classes);
  if (config.faithfulness) e.curves = perturbation_curves(*model, x, index, e.maps, config.seed);
  if (config.weights) describe_weights(e, *model);
  return e;
}

}  // namespace vitrine
