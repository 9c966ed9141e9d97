#include "vitrine/data/image_batches.h"

#include "vitrine/core/error.h"
#include "vitrine/data/mix.h"
#include "vitrine/data/palette_batches.h"

namespace vitrine {
namespace {

constexpr uint64_t kMixKey = 0x6d6978;  // apart from the keys of single examples

}  // namespace

ImageBatches::ImageBatches(std::shared_ptr<const Dataset> dataset, const Preprocess& preprocess,
                           const AugmentConfig& augment, uint64_t seed)
    : dataset_(std::move(dataset)),
      augment_(augment),
      pipeline_(preprocess, augment),
      seed_(seed) {}

Batch ImageBatches::load(const std::vector<int64_t>& indices, int64_t epoch) const {
  const auto B = static_cast<int64_t>(indices.size()), S = pipeline_.image();
  Batch batch{torch::empty({B, pipeline_.channels(), S, S}), torch::empty({B}, torch::kInt64)};
  float* out = batch.inputs.data_ptr<float>();
  int64_t* label = batch.targets.data_ptr<int64_t>();
  Image image;
  for (const auto index : indices) {
    // Without augmentation training sees the images of evaluation, bit for bit.
    if (epoch < 0 || augment_.off())
      dataset_->read(index, image);
    else
      dataset_->read_smaller(index, pipeline_.enough_to_augment(), image);
    if (epoch < 0) {
      pipeline_.evaluate(image, out);
    } else {
      Random random{seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index)};
      pipeline_.augment(image, random, out);
    }
    out += pipeline_.floats();
    *label++ = dataset_->label(index);
  }
  if (epoch >= 0 && B > 0 && (augment_.mixup > 0 || augment_.cutmix > 0))
    mix(batch,
        Random{seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(indices[0]), kMixKey});
  return batch;
}

void ImageBatches::mix(Batch& batch, Random random) const {
  batch.targets = one_hot_targets(batch.targets, static_cast<int64_t>(dataset_->classes().size()));
  const bool both = augment_.mixup > 0 && augment_.cutmix > 0;
  const bool cut = both ? random.chance(0.5) : augment_.cutmix > 0;
  const double alpha = cut ? augment_.cutmix : augment_.mixup;
  const double weight = random.beta(alpha, alpha);
  const auto S = pipeline_.image();
  if (cut)
    cutmix(batch, cutmix_rectangle(S, S, weight, random.below(S), random.below(S)));
  else
    mixup(batch, weight);
}

Splits DatasetBlueprint::splits(const DataConfig& config, uint64_t seed) const {
  const auto image_splits = open_image_splits(config, seed);
  const auto how = preprocess_of(config).value();
  const auto batches = [&](const std::shared_ptr<const Dataset>& data,
                           const AugmentConfig& augment) {
    return std::make_unique<ImageBatches>(data, how, augment, seed);
  };
  Splits splits;
  splits.train = batches(image_splits.train, config.augment);
  splits.validation = batches(image_splits.validation, {});
  splits.test = batches(image_splits.test, {});
  splits.classes = image_splits.train->classes();
  splits.class_counts = class_counts(*image_splits.train);
  return splits;
}

Splits open_data(const DataConfig& config, uint64_t seed) {
  config.validate();
  auto splits = config.dataset->splits(config, seed);
  return config.palette.colors > 0 ? palette_splits(std::move(splits), config.palette)
                                   : std::move(splits);
}

torch::Tensor preprocess(const Image& image, const Preprocess& how) {
  const Pipeline pipeline(how, {});
  auto out = torch::empty({how.channels, how.image, how.image});
  Image copy = image;
  pipeline.evaluate(copy, out.data_ptr<float>());
  return out;
}

}  // namespace vitrine
