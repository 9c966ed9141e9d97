#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/fields.h"
#include "vitrine/core/files.h"
#include "vitrine/data/registry.h"
#include "vitrine/data/resize.h"

namespace vitrine {

/// What training does to an image at random; each step is off at its default. Steps run in the
/// order of the fields.
struct AugmentConfig {
  double random_resized_crop = 0;
  int64_t crop_padding = 0;
  double flip = 0;
  double rotation = 0;
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  int64_t randaugment_ops = 0;
  int64_t randaugment_magnitude = 9;
  double erasing = 0;
  double mixup = 0;
  double cutmix = 0;

  bool operator==(const AugmentConfig&) const = default;
  /// Whether training images stay as they are, in every epoch.
  bool off() const;
  void visit(Fields& f);
  void validate() const;
};

/// How images become a model's input: short side to `resize`, then the centre `image` x `image`.
/// Empty values are the data set's own.
struct PreprocessConfig {
  int64_t image = 0;
  int64_t resize = 0;
  Interpolation interpolation = Interpolation::Bilinear;
  std::vector<double> mean, std;

  bool operator==(const PreprocessConfig&) const = default;
  void visit(Fields& f);
  void validate() const;
};

/// Images as sequences of colours out of a palette, each to be predicted from those before it.
struct PaletteConfig {
  int64_t colors = 0;
  std::string file;
  std::vector<float> known{};  // that of a trained model, in place of another; never in a recipe

  void visit(Fields& f);
  void validate() const;
};

/// Which data a run uses and how they are prepared.
struct DataConfig {
  DatasetChoice dataset{"cifar10"};
  std::string root;
  int64_t batch = 128;
  double validation = 0.1;
  int64_t limit = 0;
  double fraction = 1;
  int64_t workers = 1;
  PreprocessConfig preprocess;
  AugmentConfig augment;
  PaletteConfig palette;

  void visit(Fields& f);
  void validate() const;
};

/// Where the data sets lie: `root` of the config, else $VITRINE_DATA, else "data".
fs::path data_root(const DataConfig& config);

/// What evaluation does to any image: short side to `resize`, the centre `image` x `image` (or,
/// with `stretch`, the whole image to `image` x `image`), then (value / 255 - mean) / std per
/// channel.
struct Preprocess {
  int64_t image = 32;
  int64_t resize = 32;
  bool stretch = false;
  Interpolation interpolation = Interpolation::Bilinear;
  int64_t channels = 3;
  std::vector<double> mean = {0.5, 0.5, 0.5}, std = {0.5, 0.5, 0.5};

  void visit(Fields& f);
  void validate() const;
};

/// The config with mean and std filled in by the data set's own where they are empty.
DataConfig resolved_data_config(DataConfig config);

/// How the config's images are prepared for evaluation; nothing if its data are no images.
std::optional<Preprocess> preprocess_of(const DataConfig& config);

}  // namespace vitrine
