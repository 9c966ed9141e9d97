#include "vitrine/data/config.h"

#include <cstdlib>

#include "vitrine/core/error.h"
#include "vitrine/data/registry.h"

namespace vitrine {
namespace {

const Choices<Interpolation> kInterpolations = {{"nearest", Interpolation::Nearest},
                                                {"bilinear", Interpolation::Bilinear},
                                                {"bicubic", Interpolation::Bicubic}};

void check_share(const char* name, double value) {
  check(value >= 0 && value <= 1, "data: {} {} is not between 0 and 1", name, value);
}

void check_not_negative(const char* name, double value) {
  check(value >= 0, "data: {} {} is negative", name, value);
}

void check_statistics(const std::vector<double>& mean, const std::vector<double>& std) {
  check(mean.size() == std.size(), "data: mean has {} values and std {}; give both or neither",
        mean.size(), std.size());
  for (const double s : std) check(s > 0, "data: std {} is not positive", s);
}

}  // namespace

void AugmentConfig::visit(Fields& f) {
  f("crop_padding", crop_padding, "pad by this many pixels, then crop at random; 0 = no crop");
  f("flip", flip, "probability of a horizontal flip");
  f("rotation", rotation, "rotate by up to this many degrees either way");
  f("brightness", brightness, "jitter: factor from 1 - x to 1 + x");
  f("contrast", contrast, "jitter: factor from 1 - x to 1 + x");
  f("saturation", saturation, "jitter: factor from 1 - x to 1 + x");
  f("hue", hue, "jitter: shift by up to this share of the colour circle, at most 0.5");
  f("randaugment_ops", randaugment_ops, "RandAugment: operations per picture; 0 = off");
  f("randaugment_magnitude", randaugment_magnitude, "RandAugment: strength, 0 to 30");
  f("erasing", erasing, "probability of erasing a random rectangle");
  f("mixup", mixup, "mixup: alpha of the Beta distribution; 0 = off");
  f("cutmix", cutmix, "cutmix: alpha of the Beta distribution; 0 = off");
}

void AugmentConfig::validate() const {
  check(crop_padding >= 0, "data: augment.crop_padding {} is negative", crop_padding);
  check_share("augment.flip", flip);
  check(rotation >= 0 && rotation <= 180, "data: augment.rotation {} is not between 0 and 180",
        rotation);
  check_not_negative("augment.brightness", brightness);
  check_not_negative("augment.contrast", contrast);
  check_not_negative("augment.saturation", saturation);
  check(hue >= 0 && hue <= 0.5, "data: augment.hue {} is not between 0 and 0.5", hue);
  check(randaugment_ops >= 0, "data: augment.randaugment_ops {} is negative", randaugment_ops);
  check(randaugment_magnitude >= 0 && randaugment_magnitude <= 30,
        "data: augment.randaugment_magnitude {} is not between 0 and 30", randaugment_magnitude);
  check_share("augment.erasing", erasing);
  check_not_negative("augment.mixup", mixup);
  check_not_negative("augment.cutmix", cutmix);
}

void SyntheticConfig::visit(Fields& f) {
  f("train", train, "training pictures");
  f("test", test, "test pictures");
  f("image", image, "side of a picture in pixels");
  f("channels", channels, "1 = grey, 3 = colour");
  f("classes", classes, "number of classes");
}

void SyntheticConfig::validate() const {
  check(train >= 1 && test >= 1, "data: synthetic.train {} and synthetic.test {} must be positive",
        train, test);
  check(image >= 4, "data: synthetic.image {} is less than 4", image);
  check(channels == 1 || channels == 3, "data: synthetic.channels {} is neither 1 nor 3", channels);
  check(classes >= 2, "data: synthetic.classes {} is less than 2", classes);
}

void DataConfig::visit(Fields& f) {
  f("dataset", dataset, "name of the data set (`vitrine data list`)");
  f("root", root, "where fetched data sets lie; empty = $VITRINE_DATA, else `data`");
  f("folder", folder, "the pictures of data set `folder`: one folder per class");
  f("batch", batch, "pictures per step");
  f("validation", validation, "share of the training pictures kept for validation");
  f("limit", limit, "use only this many training pictures; 0 = all");
  f("length", length, "`waves`: values that are seen; `sentences`: most words of an example");
  f("workers", workers, "threads that prepare batches ahead");
  f("image", image, "side the pictures are resized to; 0 = as stored");
  f("interpolation", interpolation, kInterpolations, "how pictures are resized");
  f("mean", mean, "per channel, subtracted; empty = the data set's own");
  f("std", std, "per channel, divided by; empty = the data set's own");
  f.group("augment", augment, "random changes to training pictures");
  f.group("synthetic", synthetic, "sizes of data set `synthetic`");
}

void DataConfig::validate() const {
  const auto& entry = datasets().get(dataset);
  check(batch >= 1, "data: batch {} is not positive", batch);
  check(validation >= 0 && validation < 1, "data: validation {} is not a share below 1",
        validation);
  check(limit >= 0, "data: limit {} is negative", limit);
  check(length >= 2, "data: length {} is less than 2", length);
  check(workers >= 1, "data: workers {} is not positive", workers);
  check(image >= 0, "data: image {} is negative", image);
  check_statistics(mean, std);
  augment.validate();
  synthetic.validate();
  const auto traits = entry.traits(*this);
  check(mean.empty() || static_cast<int64_t>(mean.size()) == traits.channels,
        "data: mean and std have {} values, but {} has {} channels", mean.size(), dataset,
        traits.channels);
}

fs::path data_root(const DataConfig& config) {
  if (!config.root.empty()) return config.root;
  const char* set = std::getenv("VITRINE_DATA");
  return set && *set ? set : "data";
}

void Preprocess::visit(Fields& f) {
  f("image", image, "side of the model's input");
  f("resize", resize, "length the short side is resized to before the centre crop");
  f("interpolation", interpolation, kInterpolations, "how pictures are resized");
  f("channels", channels, "1 = grey, 3 = colour");
  f("mean", mean, "per channel, subtracted");
  f("std", std, "per channel, divided by");
}

void Preprocess::validate() const {
  check(image >= 1 && resize >= image, "preprocess: resize {} is less than image {}", resize,
        image);
  check(channels == 1 || channels == 3, "preprocess: {} channels, expected 1 or 3", channels);
  check(static_cast<int64_t>(mean.size()) == channels,
        "preprocess: mean has {} values for {} channels", mean.size(), channels);
  check_statistics(mean, std);
}

DataConfig resolved(DataConfig config) {
  const auto traits = datasets().get(config.dataset).traits(config);
  if (config.mean.empty()) config.mean = traits.mean;
  if (config.std.empty()) config.std = traits.std;
  config.validate();
  return config;
}

Preprocess preprocess_of(const DataConfig& config) {
  const auto full = resolved(config);
  const auto traits = datasets().get(full.dataset).traits(full);
  check(full.image > 0 || traits.image > 0,
        "data: pictures of data set '{}' differ in size; set data.image, 224 for instance",
        full.dataset);
  const auto image = full.image > 0 ? full.image : traits.image;
  return {.image = image,
          .resize = image,
          .interpolation = full.interpolation,
          .channels = traits.channels,
          .mean = full.mean,
          .std = full.std};
}

}  // namespace vitrine
