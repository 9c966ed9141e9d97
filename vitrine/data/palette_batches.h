#pragma once

#include <torch/types.h>

#include "vitrine/data/batch.h"
#include "vitrine/data/config.h"

namespace vitrine {

/// Images with three channels, whose values lie between -1 and 1, as colours of a palette, row by
/// row: (B, 3, H, W) -> (B, H * W) int64.
torch::Tensor palette_tokens(const torch::Tensor& images, const Palette& palette);

/// The palette of a tensor (colors, 3) and back.
Palette palette_of(const torch::Tensor& colors);
torch::Tensor palette_tensor(const Palette& palette);

/// Splits of images as sequences of colours, inputs and targets the same. The palette is the one
/// that is known, else the file's, else found among pixels of the training images.
Splits palette_splits(Splits images, const PaletteConfig& config);

}  // namespace vitrine
