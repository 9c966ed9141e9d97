#include "vitrine/inspect/explain.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/top_predictions.h"
#include "vitrine/inspect/rollout.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

constexpr int64_t kPredictions = 5;

plot::Matrix to_matrix(const torch::Tensor& t) {
  const auto values = t.to(torch::kCPU, torch::kDouble).contiguous();
  const auto* data = values.data_ptr<double>();
  return {t.size(0), t.size(1), {data, data + t.numel()}};
}

/// The square that evaluation cuts out, with all its pixels.
Image seen_part(const Image& image, const Preprocess& how) {
  if (how.stretch) {
    const auto square = std::max(how.image, std::min(image.width, image.height));
    return with_channels(resize(image, square, square, how.interpolation), how.channels);
  }
  const auto side = std::min(image.width, image.height) * how.image / how.resize;
  return with_channels(centre_crop(image, std::max<int64_t>(1, side)), how.channels);
}

/// Shares of the map's own tokens.
AttentionMap map_of_shares(const torch::Tensor& map) {
  const auto shares = map.to(torch::kDouble) / map.sum().to(torch::kDouble);
  const auto tokens = shares.numel();
  const auto entropy = -torch::xlogy(shares, shares).sum().item<double>();
  return {to_matrix(shares * tokens), tokens,
          tokens > 1 ? entropy / std::log(static_cast<double>(tokens)) : 1};
}

}  // namespace

Explanation explain(const LoadedCheckpoint& checkpoint, const Image& image) {
  const auto& [model, info] = checkpoint;
  check(model->image_shape().has_value(),
        "explain: {} does not take images; explain an image classifier, such as vit_c10_small",
        info.model.name());
  const torch::NoGradGuard no_grad;
  const auto x = preprocess(image, *info.preprocess).unsqueeze(0);
  AttentionCapture capture;
  const auto logits = model->forward(x);
  check(!capture.layers.empty(),
        "explain: {} has no attention recorded, so there is nothing to show; explain a "
        "transformer, such as vit_c10_small or cct_2_3x2",
        info.model.name());
  check(capture.readout.defined(), "explain: {} does not say how its output reads the tokens",
        info.model.name());

  const auto& grid = capture.layers.front().queries;
  Explanation result{.model = info.model.name(),
                     .image = seen_part(image, *info.preprocess),
                     .input = model->image_shape()->image,
                     .predictions = top_predictions(logits, info.classes, kPredictions)[0],
                     .class_token = grid.prefix > 0,
                     .readout = capture.readout_kind,
                     .rows = grid.rows,
                     .columns = grid.columns,
                     .tokens = model->image_tokens()};
  for (const auto& layer : capture.layers) {
    auto& heads = result.heads.emplace_back();
    const auto maps = head_maps(layer)[0], entropies = head_entropy(layer)[0];
    for (int64_t h = 0; h < maps.size(0); ++h)
      heads.push_back({to_matrix(maps[h] * layer.keys.tokens()), layer.keys.tokens(),
                       entropies[h].item<double>()});
  }
  if (capture.readout_kind == Readout::Weighted)
    result.pooling = map_of_shares(as_map(capture.readout[0], capture.layers.back().queries));
  const auto rollout = attention_rollout(capture.layers, capture.readout)[0];
  result.rollout = map_of_shares(rollout);
  result.rollout_kept = std::max(0.0, 1 - rollout.sum().item<double>());
  if (const auto table = model->position_table(); table.defined())
    result.positions = to_matrix(position_similarity(table, grid));
  return result;
}

}  // namespace vitrine
