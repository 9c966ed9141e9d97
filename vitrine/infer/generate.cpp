#include "vitrine/infer/generate.h"

#include <torch/torch.h>

#include <chrono>

#include "vitrine/infer/generator.h"

namespace vitrine {

int64_t GenerateOptions::kept_image_rows(int64_t rows) const {
  return static_cast<int64_t>(keep * static_cast<double>(rows));
}

Generated generate(const fs::path& run_or_checkpoint, const GenerateOptions& o) {
  const auto generator = Generator::load(run_or_checkpoint);
  const auto options = generator.sample_options(o);
  const auto start = std::chrono::steady_clock::now();
  const auto tokens = generator.sample(options);
  Generated result{.unit = generator.unit()};
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.tokens =
      generator.count_tokens(tokens) - (options.prefix.defined() ? options.prefix.numel() : 0);
  if (generator.image_layout())
    result.images = generator.images_of(tokens);
  else
    result.texts = generator.texts_of(tokens);
  return result;
}

}  // namespace vitrine
