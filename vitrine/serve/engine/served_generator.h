#pragma once

#include <optional>

#include "vitrine/core/image.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/infer/generate.h"
#include "vitrine/serve/engine/layer_weights.h"
#include "vitrine/serve/engine/served_model.h"

namespace vitrine {
struct LoadedCheckpoint;
}

namespace vitrine::serve {

struct GeneratorCard : ModelCard {
  std::string unit{};                     // what a token is: "bytes", "pixels" or "words"
  std::optional<ImageLayout> image{};     // nothing if it has learned text
  int64_t context = 0;                    // tokens of a sequence
  std::vector<std::string> vocabulary{};  // of a model of words
};

/// Some tokens of every sequence, in the order in which they were sampled.
struct SampledTokens {
  std::vector<int64_t> at{};                   // which bytes of the images
  std::vector<std::vector<uint8_t>> values{};  // of each image, at these
  std::vector<std::string> texts{};            // the next piece of each text

  bool empty() const;
};

/// Sequences that a generator is sampling.
class SampledSequences {
 public:
  struct State;
  explicit SampledSequences(std::unique_ptr<State> state);
  ~SampledSequences();

  /// Takes a token of each sequence; false if all have ended.
  bool step();
  /// The tokens since the last call; at first those that were given. Of a text that may end within
  /// a character only whole ones, until it has ended.
  SampledTokens take();

  int64_t kept() const;     // tokens of each sequence that were given
  int64_t sampled() const;  // tokens of all sequences that were not

 private:
  std::unique_ptr<State> state_;
};

/// The start of a sentence as a network reads it.
struct ReadSentence {
  std::vector<std::string> tokens{};
  std::vector<LayerWeights> layers{};  // none where the attention never holds its weights
  std::vector<Prediction> next{};      // the likeliest words behind it
};

/// A network that predicts the next token: it generates images or text.
class ServedGenerator : public ServedModel {
 public:
  static constexpr auto kKind = ModelKind::Generator;
  static constexpr const char* kNoun = "a generator";

  ServedGenerator(ModelCard card, const LoadedCheckpoint& loaded);
  ~ServedGenerator() override;

  ModelKind kind() const override { return kKind; }
  const GeneratorCard& card() const override { return card_; }
  std::string purpose() const override;
  bool makes_images() const { return card_.image.has_value(); }
  bool knows_words() const { return !card_.vocabulary.empty(); }

  /// Throws for what the model cannot do.
  std::unique_ptr<SampledSequences> sample(const GenerateOptions& options) const;
  /// Throws for words that the model does not know.
  ReadSentence read(const std::string& text) const;

 private:
  struct Loaded;
  /// Throws if a text is longer than any that the model can read.
  void check_length(const std::string& text) const;

  GeneratorCard card_;
  std::unique_ptr<Loaded> loaded_;
};

/// How many bytes of a text remain if an incomplete character at its end is cut off (UTF-8).
size_t whole_characters(std::string_view text);

}  // namespace vitrine::serve
