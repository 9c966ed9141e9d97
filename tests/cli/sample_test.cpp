// Sampling from models that commands have trained.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"
#include "vitrine/data/sentences.h"

namespace vitrine {

TEST(SampleCommand, ContinuesSentencesOfATrainedWordModel) {
  const test::TemporaryFolder folder;
  const auto recipe = (folder / "words.yaml").string(), run = (folder / "run").string();
  write_file_atomically(
      recipe,
      "model: {name: word_transformer, dim: 16, heads: 2, hidden: 24, layers: 1}\n"
      "data: {dataset: sentences, batch: 32, limit: 128, validation: 0.05}\n"
      "train: {epochs: 1}\n");
  const auto trained = test::run_command({"train", recipe, "--run", run, "--threads", "2"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto sampled = test::run_command({"sample", run, "-n", "5", "--text", "The cat"});
  ASSERT_EQ(sampled.code, 0) << sampled.err;
  std::istringstream lines(sampled.out);
  int sentences = 0;
  for (std::string line; std::getline(lines, line); ++sentences) {
    EXPECT_TRUE(line.starts_with("the cat")) << line;
    for (const auto& word : Vocabulary::split(line))
      EXPECT_GT(sentence_vocabulary().id(word), Vocabulary::kEnd) << word;
  }
  EXPECT_EQ(sentences, 5);
  EXPECT_EQ(test::run_command({"sample", run, "-n", "5", "--text", "The cat"}).out, sampled.out);
}

}  // namespace vitrine
