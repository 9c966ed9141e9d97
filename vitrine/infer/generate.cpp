#include "vitrine/infer/generate.h"

#include <chrono>

#include "vitrine/core/error.h"
#include "vitrine/infer/sampler.h"
#include "vitrine/models/sparse_transformer.h"

namespace vitrine {
namespace {

constexpr int64_t kColours = 3;

/// The first `count` bytes, once for each sequence.
torch::Tensor repeated_start(const uint8_t* bytes, int64_t count, int64_t sequences) {
  auto start = torch::empty({1, count}, torch::kLong);
  std::copy_n(bytes, count, start.data_ptr<int64_t>());
  return start.repeat({std::max<int64_t>(sequences, 0), 1});
}

torch::Tensor given_bytes(const SparseTransformerConfig& config, const GenerateOptions& o) {
  check(!o.picture || o.text.empty(), "sample: --complete and --text exclude each other");
  if (o.picture) {
    check(o.keep >= 0 && o.keep <= 1, "sample: --keep {} is not between 0 and 1", o.keep);
    check(config.channels == kColours, "sample: the model has learned text, not pictures");
    check(o.picture->width == config.columns && o.picture->height == config.rows &&
              o.picture->channels == config.channels,
          "sample: the picture is {} x {} with {} channels, the model makes {} x {} with {}",
          o.picture->width, o.picture->height, o.picture->channels, config.columns, config.rows,
          config.channels);
    const auto rows = static_cast<int64_t>(o.keep * static_cast<double>(config.rows));
    return repeated_start(o.picture->pixels.data(), rows * config.columns * config.channels,
                          o.count);
  }
  if (o.text.empty()) return {};
  check(config.channels == 1, "sample: the model has learned pictures; give --complete a picture");
  return repeated_start(reinterpret_cast<const uint8_t*>(o.text.data()), std::ssize(o.text),
                        o.count);
}

}  // namespace

Generated generate(const fs::path& run_or_checkpoint, const GenerateOptions& o) {
  const auto model = load_byte_model(run_or_checkpoint);
  const auto& config = model->config;
  const auto given = given_bytes(config, o);
  const auto start = std::chrono::steady_clock::now();
  const auto bytes = sample_bytes(model, {.count = o.count,
                                          .temperature = o.temperature,
                                          .top_k = o.top_k,
                                          .seed = o.seed,
                                          .given = given})
                         .contiguous();
  Generated result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.bytes = o.count * (config.length() - (given.defined() ? given.size(1) : 0));
  if (config.channels == kColours) {
    result.pictures = pictures_of(config, bytes);
    return result;
  }
  for (int64_t i = 0; i < o.count; ++i) {
    const auto* first = bytes.data_ptr<int64_t>() + i * config.length();
    result.texts.emplace_back(first, first + config.length());
  }
  return result;
}

}  // namespace vitrine
