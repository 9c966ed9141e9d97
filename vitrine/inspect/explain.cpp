#include "vitrine/inspect/explain.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/formats/checkpoint.h"
#include "vitrine/infer/top_predictions.h"
#include "vitrine/inspect/rollout.h"
#include "vitrine/nn/attention_capture.h"

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
  const auto side = std::min(image.width, image.height) * how.image / how.resize;
  return with_channels(centre_crop(image, std::max<int64_t>(1, side)), how.channels);
}

}  // namespace

Explanation explain(const LoadedCheckpoint& checkpoint, const Image& image) {
  const auto& [model, info] = checkpoint;
  const auto grid = model->token_grid();
  check(grid.has_value(),
        "explain: {} has no attention over patches, so there is nothing to show; explain a "
        "transformer, such as vit_c10_small or cct_2_3x2",
        info.model.name());
  const torch::NoGradGuard no_grad;
  const auto x = preprocess(image, *info.preprocess).unsqueeze(0);
  AttentionCapture capture;
  const auto scores = model->forward(x);
  check(!capture.layers.empty(), "explain: {} handed over no attention weights", info.model.name());

  Explanation result{.model = info.model.name(),
                     .picture = seen_part(image, *info.preprocess),
                     .predictions = top_predictions(scores, info.classes, kPredictions)[0],
                     .class_token = grid->prefix > 0,
                     .rows = grid->rows,
                     .columns = grid->columns};
  std::vector<torch::Tensor> layers;
  for (const auto& [weights, queries, keys] : capture.layers) {
    layers.push_back(weights[0]);  // (H, T, T)
    auto& heads = result.heads.emplace_back();
    for (const auto& map : head_maps(layers.back(), *grid).unbind())
      heads.push_back(to_matrix(map));
  }
  result.rollout = to_matrix(attention_rollout(layers, *grid));
  if (const auto table = model->position_table(); table.defined())
    result.positions = to_matrix(position_similarity(table, *grid));
  return result;
}

}  // namespace vitrine
