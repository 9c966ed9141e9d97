#include "vitrine/data/sentences.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/errors.h"
#include "vitrine/core/task.h"
#include "vitrine/data/image_batches.h"

namespace vitrine {
namespace {

using Words = std::vector<std::string>;

DataConfig sentence_config(double held_out) {
  DataConfig config;
  config.dataset.choose("sentences");
  config.validation = held_out;
  return config;
}

Batch every_sentence(const BatchSource& source, int64_t epoch) {
  std::vector<int64_t> all(source.size());
  std::iota(all.begin(), all.end(), 0);
  return source.load(all, epoch);
}

std::set<std::vector<int64_t>> rows_of(const torch::Tensor& table) {
  std::set<std::vector<int64_t>> rows;
  for (const auto& row : table.unbind())
    rows.emplace(row.data_ptr<int64_t>(), row.data_ptr<int64_t>() + row.numel());
  return rows;
}

}  // namespace

TEST(Vocabulary, SplitsWordsAndPunctuation) {
  EXPECT_EQ(Vocabulary::split("The cat sat, on the MAT."),
            (Words{"the", "cat", "sat", ",", "on", "the", "mat", "."}));
  EXPECT_EQ(Vocabulary::split("  고양이가  매트 위에 앉았다!"),
            (Words{"고양이가", "매트", "위에", "앉았다", "!"}));
  EXPECT_EQ(Vocabulary::split(""), Words());
}

TEST(Vocabulary, JoinsWordsAndPunctuation) {
  for (const auto* sentence : {"the cat (a black one) sat, didn't it?", "고양이가 앉았다!", ""})
    EXPECT_EQ(Vocabulary::join(Vocabulary::split(sentence)), sentence);
}

TEST(Vocabulary, ComesBackFromItsWords) {
  const Vocabulary vocabulary({"The cat sat."});
  const auto again = Vocabulary::from_words(vocabulary.words());
  EXPECT_EQ(again.words(), vocabulary.words());
  EXPECT_EQ(again.id("sat"), vocabulary.id("sat"));
  EXPECT_TRUE(test::contains(test::error_of([] {
                               Vocabulary::from_words({"cat", "dog"});
                             }),
                             "do not begin with <unknown>, <start>, <end>"));
  auto twice = vocabulary.words();
  twice.push_back("cat");
  EXPECT_TRUE(test::contains(test::error_of([&] { Vocabulary::from_words(twice); }),
                             "the word 'cat' occurs twice"));
}

TEST(Vocabulary, NumbersWordsAndKnowsWhatItDoesNotKnow) {
  const Vocabulary vocabulary({"The cat sat.", "The dog sat."});
  EXPECT_EQ(vocabulary.size(), 3 + 5);
  EXPECT_EQ(vocabulary.id("the"), 3);
  EXPECT_EQ(vocabulary.word(vocabulary.id("dog")), "dog");
  EXPECT_EQ(vocabulary.id("zebra"), Vocabulary::kUnknown);
  EXPECT_EQ(vocabulary.ids("The zebra sat"),
            (std::vector<int64_t>{Vocabulary::kStart, 3, Vocabulary::kUnknown, 5}));
  EXPECT_TRUE(test::contains(test::error_of([&] { vocabulary.word(8); }), "no word 8 among 8"));
}

TEST(Sentences, AreShortAndEveryWordOccursThreeTimes) {
  std::map<std::string, int> occurrences;
  size_t english = 0;
  for (const auto& text : sentence_texts()) {
    const auto words = Vocabulary::split(text);
    EXPECT_LE(words.size(), 15u) << text;
    for (const auto& word : words) ++occurrences[word];
    english += static_cast<unsigned char>(text[0]) < 128;
  }
  EXPECT_GE(english, 400u);
  EXPECT_GE(sentence_texts().size() - english, 200u);
  for (const auto& [word, count] : occurrences) EXPECT_GE(count, 3) << word;
  EXPECT_EQ(sentence_vocabulary().size(), static_cast<int64_t>(occurrences.size()) + 3);
  const auto& texts = sentence_texts();
  EXPECT_LE(std::count(texts.begin(), texts.end(), "The cat sat on the mat."), 3);
}

TEST(Sentences, AskForTheNextWordOfEach) {
  const auto splits = open_data(sentence_config(0.1), 1);
  EXPECT_EQ(splits.task, Task::NextToken);
  EXPECT_EQ(splits.vocabulary, std::ssize(splits.classes));
  EXPECT_EQ(splits.classes, sentence_vocabulary().words());
  const auto batch = every_sentence(*splits.test, /*epoch=*/-1);
  const auto &inputs = batch.inputs, &targets = batch.targets;
  EXPECT_TRUE(inputs.select(1, 0).eq(Vocabulary::kStart).all().item<bool>());
  for (int64_t i = 0; i < inputs.size(0); ++i) {
    const auto length = targets[i].ne(kIgnoreIndex).sum().item<int64_t>();
    EXPECT_TRUE(targets[i].slice(0, 0, length - 1).equal(inputs[i].slice(0, 1, length)));
    EXPECT_EQ(targets[i][length - 1].item<int64_t>(), Vocabulary::kEnd);
  }
}

TEST(Sentences, HeldOutOnesAreNeverTrainedOn) {
  const auto splits = open_data(sentence_config(0.1), 1);
  const auto N = static_cast<int64_t>(sentence_texts().size());
  EXPECT_EQ(splits.validation->size(), N / 10);
  EXPECT_EQ(splits.test->size(), N / 10);
  EXPECT_EQ(splits.train->size(), N - 2 * (N / 10));
  const auto train = rows_of(every_sentence(*splits.train, -1).targets);
  for (const auto* part : {&splits.validation, &splits.test})
    for (const auto& row : rows_of(every_sentence(**part, -1).targets))
      EXPECT_FALSE(train.contains(row));
  EXPECT_EQ(open_data(sentence_config(0), 1).test->size(), N);
  EXPECT_TRUE(test::contains(test::error_of([] { open_data(sentence_config(0.6), 1); }),
                             "leaves none to train on"));
}

TEST(Sentences, RareWordsAreSometimesUnknownInTraining) {
  const auto splits = open_data(sentence_config(0.1), 1);
  const auto plain = every_sentence(*splits.train, -1), first = every_sentence(*splits.train, 0);
  EXPECT_EQ(plain.inputs.eq(Vocabulary::kUnknown).sum().item<int64_t>(), 0);
  const auto unknown = first.inputs.eq(Vocabulary::kUnknown);
  EXPECT_GT(unknown.sum().item<int64_t>(), 10);
  EXPECT_TRUE(first.targets.equal(plain.targets));
  EXPECT_FALSE(
      plain.inputs.masked_select(unknown).eq(sentence_vocabulary().id("the")).any().item<bool>());
  EXPECT_TRUE(every_sentence(*splits.train, 0).inputs.equal(first.inputs));
  EXPECT_FALSE(every_sentence(*splits.train, 1).inputs.equal(first.inputs));
}

TEST(Sentences, AreCutToTheRecipesLength) {
  auto config = sentence_config(0.1);
  config.dataset = read_dataset("{name: sentences, length: 5}");
  const auto batch = every_sentence(*open_data(config, 1).train, -1);
  EXPECT_EQ(batch.inputs.size(1), 5);
  config.dataset = read_dataset("{name: sentences, length: 100}");
  EXPECT_EQ(every_sentence(*open_data(config, 1).train, -1).inputs.size(1), 16);
}

}  // namespace vitrine
