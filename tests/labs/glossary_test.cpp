#include "tests/support/glossary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {
namespace {

/// The texts in which the glossary holds.
constexpr std::array kTexts{
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.ko.md",
    "README.md",
    "SECURITY.md",
    "docs/architecture.md",
    "docs/dependencies.md",
    "docs/explain.md",
    "docs/explorer.md",
    "docs/labs.ko.md",
    "docs/labs.md",
    "docs/models.md",
    "docs/onnx.md",
    "docs/performance.md",
    "docs/recipes.md",
    "docs/reliability.md",
    "docs/results.md",
    "docs/scaling.md",
    "docs/serving.md",
    "docs/studies/addition.md",
    "docs/studies/finetune.md",
    "docs/studies/inductive-bias.md",
    "docs/studies/scratch.md",
    "docs/studies/sparse.md",
    "docs/studies/zoo.md",
    "vitrine/labs/text/en.yaml",
    "vitrine/labs/text/ko.yaml",
    "vitrine/studies/addition/text/en.yaml",
    "vitrine/studies/addition/text/ko.yaml",
    "vitrine/studies/finetune/text/en.yaml",
    "vitrine/studies/finetune/text/ko.yaml",
    "vitrine/studies/inductive_bias/text/en.yaml",
    "vitrine/studies/inductive_bias/text/ko.yaml",
    "vitrine/studies/scratch/text/en.yaml",
    "vitrine/studies/scratch/text/ko.yaml",
    "vitrine/studies/sparse/text/en.yaml",
    "vitrine/studies/sparse/text/ko.yaml",
    "vitrine/studies/zoo/text/en.yaml",
    "vitrine/studies/zoo/text/ko.yaml",
    "web/README.md",
    "web/src/texts/en.json",
    "web/src/texts/ko.json",
};

void expect_glossary_holds_in(const std::string& path) {
  test::expect_glossary_holds(path, read_file(fs::path(VITRINE_SOURCE_DIR) / path));
}

}  // namespace

TEST(Glossary, HasBothLanguagesAndNoWordTwice) {
  const auto rows = test::glossary();
  EXPECT_GE(rows.size(), 30u);
  std::vector<std::string> words;
  for (const auto& row : rows) {
    EXPECT_FALSE(row.english.empty());
    EXPECT_FALSE(row.korean.empty()) << row.english;
    for (const auto& word : row.forbidden) {
      EXPECT_EQ(word, test::trimmed(word));
      EXPECT_FALSE(word.empty()) << row.english;
      words.push_back(word);
    }
  }
  EXPECT_GE(words.size(), 30u);
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

TEST(Glossary, FindsWordsAcrossLinesButNotInsideOthers) {
  using Lines = std::vector<size_t>;
  using test::Flat, test::lines_with;
  EXPECT_EQ(lines_with(Flat("a\nthe Test\n  part"), "test part"), Lines{2});
  EXPECT_EQ(lines_with(Flat("\"the test \"\n  \"part\""), "test part"), Lines{1});
  EXPECT_EQ(lines_with(Flat("Picture, pictures, depicture"), "picture"), Lines{1});
  EXPECT_EQ(lines_with(Flat("편차의 평균\n표준편차의 합"), "편차의"), Lines{1});
  EXPECT_EQ(lines_with(Flat("한 에폭이 끝나면, 10에폭"), "에폭"), (Lines{1, 1}));
}

TEST(Glossary, HoldsInTheTexts) {
  for (const auto* path : kTexts) expect_glossary_holds_in(path);
}

TEST(Glossary, HoldsInTheRecipes) {
  const auto root = fs::path(VITRINE_SOURCE_DIR);
  int recipes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "recipes")) {
    if (!entry.is_regular_file()) continue;
    expect_glossary_holds_in(entry.path().lexically_relative(root).string());
    ++recipes;
  }
  EXPECT_GE(recipes, 10);
}

}  // namespace vitrine
