#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/shake.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

// Tiny decoders with random weights.
namespace vitrine::test {

/// Images of 5 x 4 pixels as bytes.
inline const std::string kImageBytes =
    "{name: sparse_c10_tiny, rows: 4, columns: 5, layers: 2, heads: 2, dim: 16, key_width: 8, "
    "hidden: 24, pattern: {stride: 8, summary_tokens: 3}}";
/// Images of 8 x 8 pixels as colours.
inline const std::string kImageColors =
    "{name: igpt_c10, image: 8, colors: 16, dim: 16, heads: 2, hidden: 32, layers: 2}";
/// Texts of 24 bytes.
inline const std::string kTextBytes =
    "{name: sparse_c10_tiny, rows: 3, columns: 8, channels: 1, layers: 1, heads: 2, dim: 16, "
    "key_width: 8, hidden: 24, pattern: {stride: 5}}";
/// Sentences of the data set's words.
inline const std::string kSentences =
    "{name: word_transformer, dim: 16, heads: 2, hidden: 24, layers: 1}";

inline ModelChoice choice_of(const std::string& settings, const std::string& more = "{}") {
  ModelChoice choice;
  Settings::from_text(settings, "test").read_into(choice);
  Settings::from_text(more, "test").read_into(choice);
  return choice;
}

/// The head starts at zero; here it should tell what comes in.
inline std::shared_ptr<Model> shaken(const ModelChoice& choice) {
  torch::manual_seed(1);
  auto model = choice.build();
  shake(*model, 0.3);
  return model;
}

/// `words` are the vocabulary of a model of words.
inline void save_shaken(const fs::path& path, const std::string& settings,
                        const std::vector<std::string>& words = {}) {
  const auto choice = choice_of(settings);
  save_checkpoint(path, *shaken(choice), {.model = choice, .classes = words});
}

}  // namespace vitrine::test
