#include "vitrine/infer/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/random.h"
#include "vitrine/infer/sparse_decoder.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

constexpr uint64_t kDrawKey = 0x64726177;  // apart from the keys of examples and epochs

/// One of the scores' places, each with the probability softmax(scores / temperature).
int64_t draw_place(std::vector<double> scores, const SampleOptions& o, double uniform) {
  if (o.top_k > 0 && o.top_k < std::ssize(scores)) {
    std::vector<int64_t> places(scores.size());
    std::iota(places.begin(), places.end(), 0);
    const auto likelier = [&](int64_t a, int64_t b) { return scores[a] > scores[b]; };
    std::nth_element(places.begin(), places.begin() + o.top_k, places.end(), likelier);
    for (auto place = places.begin() + o.top_k; place != places.end(); ++place)
      scores[*place] = -std::numeric_limits<double>::infinity();
  }
  const double top = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (auto& score : scores) total += score = std::exp((score - top) / o.temperature);
  check(std::isfinite(total),
        "sample: the network's scores are not finite; its weights are spoilt");
  double left = uniform * total;
  int64_t place = 0;
  while (place + 1 < std::ssize(scores) && left >= scores[place]) left -= scores[place++];
  return place;
}

}  // namespace

std::shared_ptr<SparseTransformer> load_byte_model(const fs::path& run_or_checkpoint) {
  const auto loaded = load_checkpoint(run_or_checkpoint);
  auto model = std::dynamic_pointer_cast<SparseTransformer>(loaded.model);
  check(model != nullptr,
        "sample: '{}' holds {}, which does not tell bytes; train a model whose name begins with "
        "sparse_",
        run_or_checkpoint.string(), loaded.info.model.name());
  return model;
}

std::vector<Image> pictures_of(const SparseTransformerConfig& config, const torch::Tensor& bytes) {
  const auto rows = bytes.contiguous();
  std::vector<Image> pictures;
  for (int64_t i = 0; i < rows.size(0); ++i) {
    pictures.emplace_back(config.columns, config.rows, config.channels);
    std::copy_n(rows.data_ptr<int64_t>() + i * config.length(), config.length(),
                pictures.back().pixels.begin());
  }
  return pictures;
}

void SampleOptions::validate() const {
  check(count > 0, "sample: {} sequences; ask for at least one", count);
  check(temperature > 0 && std::isfinite(temperature),
        "sample: temperature {} is not a positive number", temperature);
  check(top_k >= 0, "sample: top-k {} is negative", top_k);
  check(!given.defined() || (given.dim() == 2 && given.size(0) == count),
        "sample: the given starts are not one per sequence");
}

torch::Tensor draw_bytes(const torch::Tensor& scores, const SampleOptions& options,
                         int64_t position) {
  const auto rows = scores.to(torch::kDouble).cpu().contiguous();
  auto bytes = torch::empty({rows.size(0)}, torch::kLong);
  for (int64_t row = 0; row < rows.size(0); ++row) {
    const auto* first = rows.data_ptr<double>() + row * rows.size(1);
    Random random{options.seed, kDrawKey, static_cast<uint64_t>(row),
                  static_cast<uint64_t>(position)};
    bytes.data_ptr<int64_t>()[row] =
        draw_place({first, first + rows.size(1)}, options, random.uniform());
  }
  return bytes;
}

torch::Tensor sample_bytes(const std::shared_ptr<SparseTransformer>& model,
                           const SampleOptions& options) {
  options.validate();
  const auto T = model->config.length();
  const auto kept = options.given.defined() ? options.given.size(1) : 0;
  check(kept == 0 || model->config.order == ByteOrder::Interleaved,
        "sample: a model with planar bytes cannot go on from the top of a picture");
  check(kept <= T, "sample: {} bytes are given, a sequence has {}", kept, T);
  SparseDecoder decoder(model, options.count);
  auto bytes = torch::empty({options.count, T}, torch::kLong);
  Progress progress("sample", T, "bytes");
  torch::Tensor last;
  for (int64_t t = 0; t < T; ++t) {
    const auto scores = decoder.next(last);
    last = t < kept ? options.given.select(1, t) : draw_bytes(scores, options, t);
    bytes.select(1, t).copy_(last);
    progress.update(t + 1);
  }
  return model->interleaved(bytes);
}

}  // namespace vitrine
