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
#include "vitrine/infer/generate.h"
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

  /// The words that tokens stand for; nothing where they are bytes or colours.
  const std::optional<Vocabulary>& words() const { return words_; }
  /// The colours that tokens stand for; nothing where they are bytes or words.
  const std::optional<Palette>& palette() const { return palette_; }
  /// The images that the model makes; nothing if it has learned text.
  std::optional<ImageLayout> image_layout() const;

  /// All steps of a `Sampling`, with a progress bar: its sequences.
  torch::Tensor sample(const SampleOptions& options) const;
  /// What `options` ask of this model; throws for what it cannot do.
  SampleOptions sample_options(const GenerateOptions& options) const;
  /// How many of these tokens are not behind the end of their sequences.
  int64_t count_tokens(const torch::Tensor& tokens) const;

  /// The tokens of an image's first rows; throws if the model makes no images like it.
  std::vector<int64_t> tokens_of(const Image& image, int64_t rows) const;
  /// The tokens of a text; words that the vocabulary lacks throw, and all are named.
  std::vector<int64_t> tokens_of(const std::string& text) const;
  /// Each row of (N, T) tokens as a text, up to its end.
  std::vector<std::string> texts_of(const torch::Tensor& tokens) const;
  /// Each row of (N, T) tokens as an image; throws if the model has learned text.
  std::vector<Image> images_of(const torch::Tensor& tokens) const;
  /// Makes the tokens that are no words but stand for the unknown and the start impossible: logits
  /// (B, vocabulary) of a model of words.
  static void forbid_special_tokens(torch::Tensor& logits);

 private:
  std::shared_ptr<Model> model_;
  Decoder* decoder_;
  std::optional<Vocabulary> words_;
  std::optional<Palette> palette_;
};

}  // namespace vitrine
