#include "vitrine/infer/generate.h"

#include <torch/torch.h>

#include <chrono>

#include "vitrine/core/error.h"
#include "vitrine/infer/generator.h"
#include "vitrine/models/decoder.h"

namespace vitrine {
namespace {

/// How every sequence begins: (count, kept); undefined if nothing is given.
torch::Tensor prefix_of(const Generator& generator, const GenerateOptions& o) {
  check(!o.image || o.text.empty(), "sample: --complete and --text exclude each other");
  check(o.text.empty() || !generator.decoder().image_layout(),
        "sample: the model has learned images; give --complete an image");
  if (!o.image && o.text.empty()) return {};
  check(o.keep >= 0 && o.keep <= 1, "sample: --keep {} is not between 0 and 1", o.keep);
  const auto tokens = o.image ? generator.tokens_of(*o.image, o.kept_image_rows(o.image->height))
                              : generator.tokens_of(o.text);
  return torch::tensor(tokens, torch::kLong).repeat({std::max<int64_t>(o.count, 0), 1});
}

}  // namespace

int64_t GenerateOptions::kept_image_rows(int64_t rows) const {
  return static_cast<int64_t>(keep * static_cast<double>(rows));
}

Generated generate(const fs::path& run_or_checkpoint, const GenerateOptions& o) {
  const auto generator = Generator::load(run_or_checkpoint);
  const auto prefix = prefix_of(generator, o);
  const auto start = std::chrono::steady_clock::now();
  const auto tokens = generator.sample({.count = o.count,
                                        .temperature = o.temperature,
                                        .top_k = o.top_k,
                                        .seed = o.seed,
                                        .prefix = prefix});
  Generated result{.unit = generator.unit()};
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.tokens = generator.count_tokens(tokens) - (prefix.defined() ? prefix.numel() : 0);
  if (generator.decoder().image_layout())
    result.images = generator.images_of(tokens);
  else
    result.texts = generator.texts_of(tokens);
  return result;
}

}  // namespace vitrine
