#include "vitrine/data/sentences.h"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/core/task.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/config.h"

namespace vitrine {

extern const std::string_view kSentencesText;  // texts/sentences.txt

namespace {

// Apart from the keys of other data sets.
constexpr uint64_t kSentenceSplitKey = 0x73656e7431, kUnknownKey = 0x73656e7432;

constexpr int64_t kRare = 5;            // a word that occurs at most so often is rare
constexpr double kUnknownChance = 0.1;  // of a rare word in training

/// Every sentence as rows of one length.
struct SentenceTable {
  torch::Tensor inputs, targets;  // (N, T)
  torch::Tensor rare;             // (N, T) bool
};

SentenceTable sentence_table(int64_t longest) {
  const auto& texts = sentence_texts();
  const auto& vocabulary = sentence_vocabulary();
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> occurrences(vocabulary.words().size());
  size_t T = 0;
  for (const auto& text : texts) {
    rows.push_back(vocabulary.ids(text));
    for (const auto id : rows.back()) ++occurrences[id];
    T = std::max(T, rows.back().size());
  }
  T = std::min(T, static_cast<size_t>(longest));
  const auto N = static_cast<int64_t>(rows.size()), columns = static_cast<int64_t>(T);
  SentenceTable table{torch::full({N, columns}, Vocabulary::kEnd, torch::kLong),
                      torch::full({N, columns}, kIgnoreIndex, torch::kLong),
                      {}};
  auto* input = table.inputs.data_ptr<int64_t>();
  auto* target = table.targets.data_ptr<int64_t>();
  for (const auto& row : rows) {
    for (size_t t = 0; t < std::min(T, row.size()); ++t) {
      input[t] = row[t];
      target[t] = t + 1 < row.size() ? row[t + 1] : Vocabulary::kEnd;
    }
    input += columns;
    target += columns;
  }
  table.rare = torch::tensor(occurrences).index({table.inputs}).le(kRare);
  return table;
}

/// Some of the sentences. In training, the network also meets words that it does not know.
class SentenceBatches : public BatchSource {
 public:
  SentenceBatches(const SentenceTable& table, const std::vector<int64_t>& chosen, uint64_t seed)
      : seed_(seed) {
    const auto rows = torch::tensor(chosen);
    inputs_ = table.inputs.index_select(0, rows);
    targets_ = table.targets.index_select(0, rows);
    rare_ = table.rare.index_select(0, rows);
  }
  int64_t size() const override { return inputs_.size(0); }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    const auto rows = torch::tensor(indices);
    Batch batch{inputs_.index_select(0, rows), targets_.index_select(0, rows)};
    if (epoch >= 0) forget_words(batch.inputs, indices, static_cast<uint64_t>(epoch));
    return batch;
  }

 private:
  void forget_words(torch::Tensor& inputs, const std::vector<int64_t>& indices,
                    uint64_t epoch) const {
    auto words = inputs.accessor<int64_t, 2>();
    const auto rare = rare_.accessor<bool, 2>();
    for (size_t b = 0; b < indices.size(); ++b) {
      Random random{seed_, epoch, static_cast<uint64_t>(indices[b]), kUnknownKey};
      for (int64_t t = 0; t < inputs.size(1); ++t)
        if (rare[indices[b]][t] && random.chance(kUnknownChance))
          words[static_cast<int64_t>(b)][t] = Vocabulary::kUnknown;
    }
  }

  torch::Tensor inputs_, targets_, rare_;
  uint64_t seed_;
};

}  // namespace

const std::vector<std::string>& sentence_texts() {
  static const auto texts = [] {
    std::vector<std::string> lines;
    std::istringstream in{std::string(kSentencesText)};
    for (std::string line; std::getline(in, line);)
      if (!line.empty() && !line.starts_with('#')) lines.push_back(line);
    return lines;
  }();
  return texts;
}

const Vocabulary& sentence_vocabulary() {
  static const Vocabulary vocabulary(sentence_texts());
  return vocabulary;
}

namespace {

struct SentenceSettings {
  int64_t length = 20;

  void visit(Fields& f) { f("length", length, "maximum sequence length in words"); }
  void validate() const { check(length >= 2, "sentences: length {} is less than 2", length); }
};

Splits sentences(const SentenceSettings& settings, const DataConfig& config, uint64_t seed) {
  const auto table = sentence_table(settings.length);
  const auto N = table.inputs.size(0);
  const auto held_out = static_cast<int64_t>(config.validation * static_cast<double>(N));
  check(2 * held_out < N, "sentences: validation {} of {} sentences leaves none to train on",
        config.validation, N);
  const auto order = permutation(N, Random{seed, kSentenceSplitKey});
  auto last = order.end();
  auto first = order.begin() + 2 * held_out;
  if (config.limit > 0) last = first + std::min<int64_t>(config.limit, last - first);
  const auto part = [&](auto begin, auto end) {
    const std::vector<int64_t> chosen(begin, end);
    return std::make_unique<SentenceBatches>(table, chosen.empty() ? order : chosen, seed);
  };
  Splits splits;
  splits.task = Task::NextToken;
  splits.train = part(first, last);
  splits.validation = part(order.begin(), order.begin() + held_out);
  splits.test = part(order.begin() + held_out, first);
  splits.classes = sentence_vocabulary().words();
  splits.vocabulary = sentence_vocabulary().size();
  return splits;
}

class SentenceData : public DatasetOf<SentenceData, SentenceSettings> {
 public:
  Splits splits(const DataConfig& config, uint64_t seed) const override {
    return sentences(settings, config, seed);
  }
};

}  // namespace

DatasetEntry sentences_dataset() {
  return {"short English and Korean sentences, word by word; nothing to fetch",
          std::make_shared<SentenceData>()};
}

}  // namespace vitrine
