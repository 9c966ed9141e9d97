#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vitrine/labs/lab.h"
#include "vitrine/plot/colors.h"

namespace vitrine {
class WordTransformer;
}  // namespace vitrine

namespace vitrine::labs::self_attention {

/// The sentence of lab 2, and of the exercise if the learner gives none.
inline constexpr const char* kCatSentence = "The cat sat on the mat";
/// Words, signs of punctuation among them, that the model can read at once.
inline constexpr int64_t kMaxWords = 15;

/// Throws if the sentence has no words or too many.
void check_sentence(const std::string& sentence);

/// What the language model was trained on, and how well it tells the next word.
struct SentenceTraining {
  int64_t sentences = 0;   // that it was trained on
  int64_t vocabulary = 0;  // words
  int64_t parameters = 0;
  double seconds = 0;
  double untrained_perplexity = 0, perplexity = 0;  // on sentences it was not trained on
};

/// Where each word of a sentence looks. Tokens are "<start>" and the words; each sees itself and
/// those before it.
struct SentenceAttention {
  std::vector<std::string> tokens{};
  std::vector<std::string> unknown{};               // words that the training text does not have
  std::vector<std::vector<plot::Matrix>> layers{};  // [layer][head], (T, T)
};

/// A small language model, trained on the sentences that come with the program.
class SentenceModel {
 public:
  /// Trains it, in a run folder under `options.folder`.
  explicit SentenceModel(const LabOptions& options);

  const SentenceTraining& training() const { return training_; }
  /// Sentences it was not trained on.
  const std::vector<std::string>& held_out() const { return held_out_; }
  /// What its heads make of a sentence.
  SentenceAttention read(const std::string& sentence) const;
  /// What they made of it before training.
  SentenceAttention read_untrained(const std::string& sentence) const;

  /// The trained network, in evaluation mode.
  const std::shared_ptr<WordTransformer>& network() const { return trained_; }

 private:
  std::shared_ptr<WordTransformer> untrained_, trained_;
  SentenceTraining training_;
  std::vector<std::string> held_out_;
};

}  // namespace vitrine::labs::self_attention
