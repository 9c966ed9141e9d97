#pragma once

#include <optional>

#include "vitrine/core/files.h"
#include "vitrine/data/palette.h"

namespace vitrine {

/// Under which name the palette stands among the tensors of a folder.
inline constexpr const char* kPaletteTensor = "colors";

/// The palette that lies beside the weights of an iGPT: `clusters` of preprocessor_config.json, as
/// Hugging Face has it, or OpenAI's kmeans_centers.npy; nothing if there is neither.
std::optional<Palette> read_hub_palette(const fs::path& folder);

}  // namespace vitrine
