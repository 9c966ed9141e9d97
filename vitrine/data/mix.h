#pragma once

#include "vitrine/core/random.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/normalize.h"

namespace vitrine {

/// Class numbers (B) as one-hot targets (B, N).
torch::Tensor one_hot_targets(const torch::Tensor& labels, int64_t classes);

/// Mixup: example b becomes weight * b + (1 - weight) * (b - 1), inputs and targets alike, with the
/// last example before the first. Targets are probabilities (B, N). In place.
void mixup(Batch& batch, double weight);

/// CutMix: the rectangle of example b comes from example b - 1, and so does the same fraction of
/// the target. In place.
void cutmix(Batch& batch, const Rectangle& rectangle);

/// The rectangle that leaves about the fraction `kept` of a W x H image, centred on (x, y), cut at
/// the edges.
Rectangle cutmix_rectangle(int64_t W, int64_t H, double kept, int64_t x, int64_t y);

}  // namespace vitrine
