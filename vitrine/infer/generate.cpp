#include "vitrine/infer/generate.h"

#include <torch/torch.h>

#include <chrono>

#include "vitrine/core/error.h"
#include "vitrine/infer/generator.h"
#include "vitrine/models/decoder.h"

namespace vitrine {
namespace {

/// The rows of the image that are kept, as tokens.
std::vector<int64_t> kept_bytes(const Decoder& decoder, const GenerateOptions& o) {
  check(o.keep >= 0 && o.keep <= 1, "sample: --keep {} is not between 0 and 1", o.keep);
  const auto layout = decoder.image_layout();
  check(layout.has_value(), "sample: the model has learned text, not images");
  check(*layout == ImageLayout{o.image->height, o.image->width, o.image->channels},
        "sample: the image is {} x {} with {}, the model makes {} x {} with {}", o.image->width,
        o.image->height, counted(o.image->channels, "channel"), layout->columns, layout->rows,
        layout->channels);
  const auto first = o.image->pixels.begin();
  return {first, first + o.kept_image_rows(layout->rows) * layout->columns * layout->channels};
}

/// How every sequence begins: (count, kept); undefined if nothing is given.
torch::Tensor prefix_of(const Generator& generator, const GenerateOptions& o) {
  check(!o.image || o.text.empty(), "sample: --complete and --text exclude each other");
  check(o.text.empty() || !generator.decoder().image_layout(),
        "sample: the model has learned images; give --complete an image");
  if (!o.image && o.text.empty()) return {};
  const auto tokens = o.image ? kept_bytes(generator.decoder(), o) : generator.tokens_of(o.text);
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
