#pragma once

#include "vitrine/core/random.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/normalize.h"

namespace vitrine {

/// Class numbers (B) as shares (B, N): 1 at the class, 0 elsewhere.
torch::Tensor one_hot_targets(const torch::Tensor& labels, int64_t classes);

/// Mixup: example b becomes share * b + (1 - share) * (b - 1), inputs and targets alike, with the
/// last example before the first. Targets are shares (B, N). In place.
void mixup(Batch& batch, double share);

/// CutMix: the rectangle of example b comes from example b - 1, and so does the area's share of the
/// target. In place.
void cutmix(Batch& batch, const Rectangle& rectangle);

/// The rectangle that leaves about `share` of a W x H image, centred on (x, y), cut at the edges.
Rectangle cutmix_rectangle(int64_t W, int64_t H, double share, int64_t x, int64_t y);

}  // namespace vitrine
