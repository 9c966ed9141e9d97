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
  std::optional<Image> image{};  // whose upper part is kept and the rest sampled
  double keep = 0.5;             // the fraction of its rows
  std::string text{};            // how texts begin

  /// How many of the `rows` of an image are kept.
  int64_t kept_image_rows(int64_t rows) const;
};

/// What a model generated: images or, if it has learned text, texts.
struct Generated {
  std::vector<Image> images{};
  std::vector<std::string> texts{};
  int64_t tokens = 0;  // sampled
  std::string unit{};  // what a token is: "bytes", "pixels" or "words"
  double seconds = 0;
};

/// Loads a run folder (its best checkpoint) or a .safetensors file of a model that predicts the
/// next token, and samples sequences from it. The same options give the same result.
Generated generate(const fs::path& run_or_checkpoint, const GenerateOptions& options);

}  // namespace vitrine
