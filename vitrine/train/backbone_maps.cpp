#include "vitrine/train/backbone_maps.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/random.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/models/backbone.h"
#include "vitrine/models/model.h"
#include "vitrine/train/feature_cache.h"
#include "vitrine/weights/load.h"

namespace vitrine {
namespace {

/// Feature maps in place of images; `mirrored` are those of the flipped images, if there are any.
class MapBatches : public BatchSource {
 public:
  MapBatches(FeatureSet maps, std::optional<FeatureSet> mirrored, double flip, uint64_t seed)
      : maps_(std::move(maps)), mirrored_(std::move(mirrored)), flip_(flip), seed_(seed) {}

  int64_t size() const override { return maps_.size(); }

  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    auto shape = maps_.row(0).sizes().vec();
    shape.insert(shape.begin(), std::ssize(indices));
    const auto maps = torch::empty(shape);  // (B, S, S, C)
    for (int64_t i = 0; i < std::ssize(indices); ++i)
      maps[i].copy_((flips(indices[i], epoch) ? *mirrored_ : maps_).row(indices[i]));
    return {maps.permute({0, 3, 1, 2}), maps_.targets.index_select(0, torch::tensor(indices))};
  }

 private:
  /// As `ImageBatches` decides it when nothing else is random.
  bool flips(int64_t index, int64_t epoch) const {
    return mirrored_ && epoch >= 0 &&
           Random{seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index)}.chance(flip_);
  }

  FeatureSet maps_;
  std::optional<FeatureSet> mirrored_;
  double flip_;
  uint64_t seed_;
};

class MapPass {
 public:
  MapPass(const Recipe& recipe, Model& model, const BackboneMapOptions& options)
      : recipe_(recipe),
        options_(options),
        device_(open_device(options.device)),
        backbone_(model.backbone()) {
    check(backbone_ != nullptr,
          "train: cache_backbone is for hybrids, and {} has no backbone; set "
          "train.cache_backbone=none",
          recipe.model.name());
    model.to(device_);
    model.eval();
    NamedTensors weights;
    for (const auto& item : backbone_->named_parameters())
      weights.emplace_back(item.key(), item.value());
    for (const auto& item : backbone_->named_buffers())
      weights.emplace_back(item.key(), item.value());
    network_ =
        fmt::format("weights: {}\nbackbone:\n{}", checksum_of(weights), to_yaml(backbone_->config));
  }

  /// The maps of a split, (N, S, S, C): channels last, as the backbone makes them.
  std::optional<FeatureSet> maps(const BatchSource& source, const std::string& split,
                                 bool mirrored) const {
    const bool half = recipe_.train.cache_backbone == MapCache::Float16;
    const auto what = fmt::format("{}{}", split, mirrored ? ", mirrored" : "");
    const auto found = cached_features(
        source,
        [&](const torch::Tensor& x) {
          return backbone_->forward(x).permute({0, 2, 3, 1});
        },
        {.cache = options_.cache,
         .key = fmt::format("{}{}mirrored: {}\nprecision: {}", network_,
                            examples_key(recipe_, split), mirrored, half ? "fp16" : "fp32"),
         .label = "feature maps, " + what,
         .batch = recipe_.data.batch,
         .workers = recipe_.data.workers,
         .epoch = mirrored ? 0 : -1,
         .dtype = half ? torch::kHalf : torch::kFloat,
         .device = device_});
    if (found && options_.on_message)
      options_.on_message(
          fmt::format("feature maps of {} images ({}): {} {}", source.size(), what,
                      found->from_cache ? "from the cache; computing them took" : "computed in",
                      duration_text(found->seconds)));
    return found;
  }

 private:
  const Recipe& recipe_;
  const BackboneMapOptions& options_;
  torch::Device device_;
  std::shared_ptr<BackboneImpl> backbone_;
  std::string network_;  // what decides the maps beside the images
};

}  // namespace

std::optional<Splits> backbone_map_splits(const Recipe& recipe, const Splits& images, Model& model,
                                          const BackboneMapOptions& options) {
  const MapPass pass(recipe, model, options);
  const auto seed = static_cast<uint64_t>(recipe.seed);
  const double flip = recipe.data.augment.flip;
  Splits splits{
      .task = images.task, .classes = images.classes, .class_counts = images.class_counts};
  const auto add = [&](Split split, const BatchSource& source) {
    const auto name = split_name(split);
    auto maps = pass.maps(source, name, /*mirrored=*/false);
    if (!maps) return false;
    std::optional<FeatureSet> mirrored;
    if (split == Split::Train && flip > 0) {
      auto flipped = recipe.data;
      flipped.augment = {.flip = 1};
      mirrored = pass.maps(*open_data(flipped, seed).train, name, /*mirrored=*/true);
      if (!mirrored) return false;
    }
    splits.get(split) =
        std::make_unique<MapBatches>(*std::move(maps), std::move(mirrored), flip, seed);
    return true;
  };
  if (add(Split::Train, *images.train) && add(Split::Validation, *images.validation) &&
      add(Split::Test, *images.test))
    return splits;
  return std::nullopt;
}

}  // namespace vitrine
