#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"

namespace vitrine {

struct GenerateOptions {
  int64_t count = 16;
  double temperature = 1;
  int64_t top_k = 0;
  uint64_t seed = 1;
  std::optional<Image> picture{};  // whose upper part is kept and the rest made up
  double keep = 0.5;               // the share of its rows
  std::string text{};              // how texts begin
};

/// What a model made up: pictures or, if it has learned text, texts.
struct Generated {
  std::vector<Image> pictures{};
  std::vector<std::string> texts{};
  int64_t bytes = 0;  // drawn
  double seconds = 0;
};

/// Loads a run folder (its best checkpoint) or a .safetensors file of a model that tells bytes, and
/// lets it make up sequences. The same options give the same result.
Generated generate(const fs::path& run_or_checkpoint, const GenerateOptions& options);

}  // namespace vitrine
