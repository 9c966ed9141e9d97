#pragma once

#include <memory>

#include "vitrine/core/image.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/config.h"
#include "vitrine/data/dataset.h"
#include "vitrine/data/image_splits.h"
#include "vitrine/data/pipeline.h"

namespace vitrine {

/// Batches of a data set's images, prepared by a pipeline. An example's augmentation depends on
/// (seed, epoch, index) alone; mixup and cutmix on (seed, epoch, first index of the batch).
class ImageBatches : public BatchSource {
 public:
  ImageBatches(std::shared_ptr<const Dataset> dataset, const Preprocess& preprocess,
               const AugmentConfig& augment, uint64_t seed);

  int64_t size() const override { return dataset_->size(); }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override;

 private:
  void mix(Batch& batch, Random random) const;

  std::shared_ptr<const Dataset> dataset_;
  AugmentConfig augment_;
  Pipeline pipeline_;
  uint64_t seed_;
};

/// All splits as batches; only the training set is augmented.
Splits open_data(const DataConfig& config, uint64_t seed);

/// Any image as a model's input: (C, H, W).
torch::Tensor preprocess(const Image& image, const Preprocess& how);

}  // namespace vitrine
