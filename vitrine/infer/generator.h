#pragma once

#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"
#include "vitrine/data/palette.h"
#include "vitrine/data/vocabulary.h"
#include "vitrine/infer/sampler.h"

namespace vitrine {

class Decoder;
class Model;

/// Generates sequences with any decoder, token by token, and knows what their tokens are: the bytes
/// of an image, its colours, the bytes of a text, or words.
class Generator {
 public:
  /// `name` is the model's, for errors; `words` are its vocabulary's, empty where tokens are bytes
  /// or colours. Throws if the model is no decoder.
  Generator(std::shared_ptr<Model> model, const std::string& name,
            const std::vector<std::string>& words = {});
  /// The model of a run folder (its best checkpoint) or checkpoint.
  static Generator load(const fs::path& run_or_checkpoint);

  const Decoder& decoder() const { return *decoder_; }
  /// What a token is: "bytes", "pixels" or "words".
  const char* unit() const { return words_ ? "words" : palette_ ? "pixels" : "bytes"; }

  /// Sequences in the order of the data, (count, T) int64, with a progress bar. T is the context,
  /// or less where all have ended before; behind its end a sequence holds end tokens.
  torch::Tensor sample(const SampleOptions& options) const;
  /// How many of these tokens are not behind the end of their sequences.
  int64_t count_tokens(const torch::Tensor& tokens) const;

  /// The tokens of an image's first rows; throws if the model makes no images like it.
  std::vector<int64_t> tokens_of(const Image& image, int64_t rows) const;
  /// The tokens of a text; words that the vocabulary lacks throw.
  std::vector<int64_t> tokens_of(const std::string& text) const;
  /// Each row of (N, T) tokens as a text, up to its end.
  std::vector<std::string> texts_of(const torch::Tensor& tokens) const;
  /// Each row of (N, T) tokens as an image; throws if the model has learned text.
  std::vector<Image> images_of(const torch::Tensor& tokens) const;

 private:
  /// What is read before the first token is sampled: (B), undefined where the model needs nothing.
  torch::Tensor first_tokens(int64_t count) const;

  std::shared_ptr<Model> model_;
  Decoder* decoder_;
  std::optional<Vocabulary> words_;
  std::optional<Palette> palette_;
};

}  // namespace vitrine
