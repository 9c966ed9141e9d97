#include "vitrine/data/vocabulary.h"

#include <algorithm>
#include <string_view>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

// Plain ASCII, whatever the locale: the bytes of Hangul are letters.
bool is_blank(char c) { return std::string_view(" \t\r\n").find(c) != std::string_view::npos; }
bool is_punctuation(char c) {
  return std::string_view(".,;:!?\"()").find(c) != std::string_view::npos;
}
char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

Vocabulary::Vocabulary(const std::vector<std::string>& sentences) {
  for (const auto* word : {"<unknown>", "<start>", "<end>"}) add(word);
  for (const auto& sentence : sentences)
    for (const auto& word : split(sentence)) add(word);
}

Vocabulary Vocabulary::from_words(const std::vector<std::string>& words) {
  Vocabulary vocabulary(std::vector<std::string>{});
  const auto specials = vocabulary.words_;
  check(
      words.size() > specials.size() && std::equal(specials.begin(), specials.end(), words.begin()),
      "vocabulary: the words do not begin with {}", fmt::join(specials, ", "));
  for (size_t i = specials.size(); i < words.size(); ++i)
    check(vocabulary.add(words[i]) == static_cast<int64_t>(i),
          "vocabulary: the word '{}' occurs twice", words[i]);
  return vocabulary;
}

int64_t Vocabulary::add(const std::string& word) {
  const auto [place, is_new] = ids_.emplace(word, size());
  if (is_new) words_.push_back(word);
  return place->second;
}

int64_t Vocabulary::id(const std::string& word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

const std::string& Vocabulary::word(int64_t id) const {
  check(id >= 0 && id < size(), "vocabulary: there is no word {} among {}", id, size());
  return words_[static_cast<size_t>(id)];
}

std::vector<int64_t> Vocabulary::ids(const std::string& sentence) const {
  std::vector<int64_t> result = {kStart};
  for (const auto& word : split(sentence)) result.push_back(id(word));
  return result;
}

std::vector<std::string> Vocabulary::split(const std::string& sentence) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : sentence) {
    if (is_punctuation(c)) {
      words.emplace_back(1, c);
    } else if (!is_blank(c)) {
      if (!inside) words.emplace_back();
      words.back() += lower_case(c);
    }
    inside = !is_punctuation(c) && !is_blank(c);
  }
  return words;
}

std::string Vocabulary::join(const std::vector<std::string>& words) {
  std::string sentence;
  for (const auto& word : words) {
    const bool opens = word == "(";
    const bool sign = word.size() == 1 && is_punctuation(word[0]) && !opens;
    if (!sentence.empty() && !sign && sentence.back() != '(') sentence += ' ';
    sentence += word;
  }
  return sentence;
}

}  // namespace vitrine
