#pragma once

#include <functional>
#include <optional>
#include <string>

#include "vitrine/core/files.h"
#include "vitrine/data/batch.h"
#include "vitrine/train/config.h"

namespace vitrine {

class Model;

struct BackboneMapOptions {
  fs::path cache{};  // the folder of the cached files
  std::string device = "cpu";
  std::function<void(const std::string&)> on_message = {};
};

/// The recipe's splits with the feature maps of the model's frozen backbone in place of the images,
/// for a model under `BackboneBypass`. The maps are computed once, in evaluation mode, and kept as
/// `train.cache_backbone` says; with a flip as augmentation those of mirrored training images, too,
/// and each epoch flips the images that it would flip without the cache. Nothing after Ctrl-C.
std::optional<Splits> backbone_map_splits(const Recipe& recipe, const Splits& images, Model& model,
                                          const BackboneMapOptions& options);

}  // namespace vitrine
