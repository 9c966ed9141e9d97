#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace vitrine {

/// The words of a text, numbered in their order of appearance after three that stand for other
/// things.
class Vocabulary {
 public:
  static constexpr int64_t kUnknown = 0, kStart = 1, kEnd = 2;

  /// The words of these sentences.
  explicit Vocabulary(const std::vector<std::string>& sentences);
  /// The vocabulary whose `words()` these are; throws if they are those of no vocabulary.
  static Vocabulary from_words(const std::vector<std::string>& words);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  /// The number of a word as `split` gives it; kUnknown if the text has no such word.
  int64_t id(const std::string& word) const;
  const std::string& word(int64_t id) const;
  const std::vector<std::string>& words() const { return words_; }

  /// The sentence as a network reads it: kStart, then the number of each word.
  std::vector<int64_t> ids(const std::string& sentence) const;

  /// The words of a sentence: Latin letters in lower case, each sign of punctuation on its own.
  static std::vector<std::string> split(const std::string& sentence);
  /// The sentence of these words: a blank between them, none before a sign of punctuation.
  static std::string join(const std::vector<std::string>& words);

 private:
  int64_t add(const std::string& word);

  std::vector<std::string> words_;  // by number
  std::unordered_map<std::string, int64_t> ids_;
};

}  // namespace vitrine
