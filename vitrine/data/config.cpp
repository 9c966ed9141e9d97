#include "vitrine/data/config.h"

#include <cstdlib>

#include "vitrine/core/error.h"
#include "vitrine/data/palette.h"

namespace vitrine {
namespace {

const Choices<Interpolation> kInterpolations = {{"nearest", Interpolation::Nearest},
                                                {"bilinear", Interpolation::Bilinear},
                                                {"bicubic", Interpolation::Bicubic}};

void check_fraction(const char* name, double value) {
  check(value >= 0 && value <= 1, "data: {} {} is not between 0 and 1", name, value);
}

void check_not_negative(const char* name, double value) {
  check(value >= 0, "data: {} {} is negative", name, value);
}

void check_statistics(const std::vector<double>& mean, const std::vector<double>& std) {
  check(mean.size() == std.size(),
        "preprocess: mean has {} values and std {}; give both or neither", mean.size(), std.size());
  for (const double s : std) check(s > 0, "preprocess: std {} is not positive", s);
}

/// Whether the images can become colours of a palette, which knows them from -1 to 1.
void check_palette(const DataConfig& config) {
  const auto traits = config.dataset->images();
  check(traits && traits->channels == 3,
        "data: '{}' does not consist of colour images; leave out data.palette",
        config.dataset.name());
  check(config.augment.mixup == 0 && config.augment.cutmix == 0,
        "data: mixup and cutmix blend classes, and a palette's tokens have none; leave them out");
  const std::vector<double> half(3, 0.5);
  const auto& how = config.preprocess;
  check(how.mean.empty() || (how.mean == half && how.std == half),
        "data: a palette takes pixels from -1 to 1; leave out data.preprocess.mean and std");
}

}  // namespace

void AugmentConfig::visit(Fields& f) {
  f("random_resized_crop", random_resized_crop,
    "smallest fraction of the area that a random crop keeps before it is resized; 0 = off");
  f("crop_padding", crop_padding, "pad by this many pixels, then crop at random; 0 = no crop");
  f("flip", flip, "probability of a horizontal flip");
  f("rotation", rotation, "rotate by up to this many degrees either way");
  f("brightness", brightness, "jitter: factor from 1 - x to 1 + x");
  f("contrast", contrast, "jitter: factor from 1 - x to 1 + x");
  f("saturation", saturation, "jitter: factor from 1 - x to 1 + x");
  f("hue", hue, "jitter: shift by up to this fraction of the colour circle, at most 0.5");
  f("randaugment_ops", randaugment_ops, "RandAugment: operations per image; 0 = off");
  f("randaugment_magnitude", randaugment_magnitude, "RandAugment: strength, 0 to 30");
  f("erasing", erasing, "probability of erasing a random rectangle");
  f("mixup", mixup, "mixup: alpha of the Beta distribution; 0 = off");
  f("cutmix", cutmix, "cutmix: alpha of the Beta distribution; 0 = off");
}

bool AugmentConfig::off() const {
  auto steps = *this;
  const AugmentConfig none;
  steps.randaugment_magnitude = none.randaugment_magnitude;  // that of no operation
  return steps == none;
}

void AugmentConfig::validate() const {
  check_fraction("augment.random_resized_crop", random_resized_crop);
  check(crop_padding >= 0, "data: augment.crop_padding {} is negative", crop_padding);
  check_fraction("augment.flip", flip);
  check(rotation >= 0 && rotation <= 180, "data: augment.rotation {} is not between 0 and 180",
        rotation);
  check_not_negative("augment.brightness", brightness);
  check_not_negative("augment.contrast", contrast);
  check_not_negative("augment.saturation", saturation);
  check(hue >= 0 && hue <= 0.5, "data: augment.hue {} is not between 0 and 0.5", hue);
  check(randaugment_ops >= 0, "data: augment.randaugment_ops {} is negative", randaugment_ops);
  check(randaugment_magnitude >= 0 && randaugment_magnitude <= 30,
        "data: augment.randaugment_magnitude {} is not between 0 and 30", randaugment_magnitude);
  check_fraction("augment.erasing", erasing);
  check_not_negative("augment.mixup", mixup);
  check_not_negative("augment.cutmix", cutmix);
}

void PreprocessConfig::visit(Fields& f) {
  f("image", image, "side of the model's input, cut out of the centre; 0 = as stored");
  f("resize", resize, "length the short side is resized to before; 0 = that of `image`");
  f("interpolation", interpolation, kInterpolations, "interpolation when images are resized");
  f("mean", mean, "per channel, subtracted; empty = the data set's own");
  f("std", std, "per channel, divided by; empty = the data set's own");
}

void PreprocessConfig::validate() const {
  check(image >= 0, "data: preprocess.image {} is negative", image);
  check(resize == 0 || resize >= image, "data: preprocess.resize {} is less than image {}", resize,
        image);
  check_statistics(mean, std);
}

void PaletteConfig::visit(Fields& f) {
  f("colors", colors,
    "images become sequences of this many colours, found by k-means among the training pixels; 0 = "
    "images stay as they are");
  f.path("file", file, "a .npy file of the colours, (colors, 3) from -1 to 1; empty = by k-means");
}

void PaletteConfig::validate() const {
  check(colors == 0 || (colors >= 2 && colors <= Palette::kMost),
        "data: palette.colors {} is neither 0 nor from 2 to {}", colors, Palette::kMost);
  check(file.empty() || colors > 0,
        "data: palette.file is given, but palette.colors is 0; set it to the file's number of "
        "colours, 512 for instance");
}

void DataConfig::visit(Fields& f) {
  f.choice("dataset", dataset, "the data set and its own settings");
  f.path("root", root, "where fetched data sets lie; empty = $VITRINE_DATA, else `data`");
  f("batch", batch, "examples per step");
  f("validation", validation, "fraction of the training examples held out for validation");
  f("limit", limit, "use only this many training examples; 0 = all");
  f("fraction", fraction, "use only this fraction of the training images, the same of every class");
  f("workers", workers, "threads that prepare batches ahead");
  f.group("preprocess", preprocess, "how images become a model's input");
  f.group("augment", augment, "random changes to training images");
  f.group("palette", palette, "images as sequences of colours, for models that predict them");
}

void DataConfig::validate() const {
  dataset->validate();
  check(batch >= 1, "data: batch {} is not positive", batch);
  check(validation >= 0 && validation < 1, "data: validation {} is not a fraction below 1",
        validation);
  check(limit >= 0, "data: limit {} is negative", limit);
  check(fraction > 0 && fraction <= 1, "data: fraction {} is not above 0 and at most 1", fraction);
  check(limit == 0 || fraction == 1,
        "data: limit {} and fraction {} both cut the training set; give one of them", limit,
        fraction);
  check(workers >= 1, "data: workers {} is not positive", workers);
  preprocess.validate();
  augment.validate();
  palette.validate();
  const auto traits = dataset->images();
  check(traits.has_value() || (preprocess == PreprocessConfig{} && augment == AugmentConfig{}),
        "data: '{}' does not consist of images; leave out data.preprocess and data.augment",
        dataset.name());
  check(traits.has_value() || fraction == 1,
        "data: '{}' does not consist of images; cut it with data.limit instead of data.fraction",
        dataset.name());
  check(preprocess.mean.empty() || std::ssize(preprocess.mean) == traits->channels,
        "data: preprocess.mean and std have {} each, but {} has {}",
        counted(std::ssize(preprocess.mean), "value"), dataset.name(),
        counted(traits ? traits->channels : 0, "channel"));
  if (palette.colors > 0) check_palette(*this);
}

fs::path data_root(const DataConfig& config) {
  if (!config.root.empty()) return config.root;
  const char* set = std::getenv("VITRINE_DATA");
  return set && *set ? set : "data";
}

void Preprocess::visit(Fields& f) {
  f("image", image, "side of the model's input");
  f("resize", resize, "length the short side is resized to before the centre crop");
  f("stretch", stretch, "resize the whole image to the square, whatever its proportions");
  f("interpolation", interpolation, kInterpolations, "interpolation when images are resized");
  f("channels", channels, "1 = grey, 3 = colour");
  f("mean", mean, "per channel, subtracted");
  f("std", std, "per channel, divided by");
}

void Preprocess::validate() const {
  check(image >= 1 && resize >= image, "preprocess: resize {} is less than image {}", resize,
        image);
  check(!stretch || resize == image,
        "preprocess: stretch leaves nothing to crop, so resize must be image {}, not {}", image,
        resize);
  check(channels == 1 || channels == 3, "preprocess: {} channels, expected 1 or 3", channels);
  check(static_cast<int64_t>(mean.size()) == channels, "preprocess: mean has {} for {}",
        counted(std::ssize(mean), "value"), counted(channels, "channel"));
  check_statistics(mean, std);
}

DataConfig resolved_data_config(DataConfig config) {
  if (const auto traits = config.dataset->images()) {
    auto& how = config.preprocess;
    const bool painted = config.palette.colors > 0;
    const std::vector<double> half(static_cast<size_t>(traits->channels), 0.5);
    if (how.mean.empty()) how.mean = painted ? half : traits->mean;
    if (how.std.empty()) how.std = painted ? half : traits->std;
  }
  config.validate();
  return config;
}

std::optional<Preprocess> preprocess_of(const DataConfig& config) {
  const auto full = resolved_data_config(config);
  const auto traits = full.dataset->images();
  if (!traits) return std::nullopt;
  const auto& wish = full.preprocess;
  check(wish.image > 0 || traits->side > 0,
        "data: the images of data set '{}' differ in size; set data.preprocess.image, 224 for "
        "instance",
        full.dataset.name());
  const auto image = wish.image > 0 ? wish.image : traits->side;
  return Preprocess{.image = image,
                    .resize = wish.resize > 0 ? wish.resize : image,
                    .interpolation = wish.interpolation,
                    .channels = traits->channels,
                    .mean = wish.mean,
                    .std = wish.std};
}

}  // namespace vitrine
