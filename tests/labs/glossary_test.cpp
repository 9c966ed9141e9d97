#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {
namespace {

/// The texts in which the glossary holds.
constexpr std::array kTexts{
    "docs/labs.ko.md",
    "docs/labs.md",
    "docs/studies/addition.md",
    "docs/studies/sparse.md",
    "vitrine/labs/text/en.yaml",
    "vitrine/labs/text/ko.yaml",
    "vitrine/studies/addition/text/en.yaml",
    "vitrine/studies/addition/text/ko.yaml",
    "vitrine/studies/sparse/text/en.yaml",
    "vitrine/studies/sparse/text/ko.yaml",
};

/// Texts with old words in them. A file moves to `kTexts` once
/// `labs_test --gtest_also_run_disabled_tests --gtest_filter='Glossary.*'` finds none there.
constexpr std::array kOldTexts{
    "README.ko.md",        "README.md",       "docs/architecture.md", "docs/dependencies.md",
    "docs/performance.md", "docs/recipes.md", "docs/results.md",
};

struct Row {
  std::string english, korean;
  std::vector<std::string> forbidden;
};

std::string trimmed(const std::string& text) {
  const auto from = text.find_first_not_of(' ');
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// The rows of the table in docs/glossary.md; the words of its last column stand between backticks.
std::vector<Row> glossary() {
  std::vector<Row> rows;
  for (const auto& line : split(read_file(VITRINE_SOURCE_DIR "/docs/glossary.md"), '\n')) {
    if (!line.starts_with("| ") || line.starts_with("| English |")) continue;
    const auto cells = split(line, '|');
    EXPECT_EQ(cells.size(), 6u) << line;
    if (cells.size() != 6) continue;
    Row row{trimmed(cells[1]), trimmed(cells[2]), {}};
    const auto marked = split(cells[4], '`');
    EXPECT_EQ(marked.size() % 2, 1u) << line;
    for (size_t i = 1; i < marked.size(); i += 2) row.forbidden.push_back(marked[i]);
    rows.push_back(row);
  }
  return rows;
}

/// A text in small letters in which spaces, line ends and quotes between words count as one space,
/// with the line that each of its bytes comes from.
struct Flat {
  explicit Flat(const std::string& text) {
    size_t line = 1;
    for (const char c : text) {
      const bool between = c == '"' || std::isspace(static_cast<unsigned char>(c));
      if (!between || letters.empty() || letters.back() != ' ') {
        letters += between ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        lines.push_back(line);
      }
      if (c == '\n') ++line;
    }
  }

  std::string letters;
  std::vector<size_t> lines;
};

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)); }

/// Whether a Hangul syllable ends just before `at` (three bytes in UTF-8, 0xEA to 0xED first).
bool hangul_before(const std::string& text, size_t at) {
  if (at < 3) return false;
  const auto first = static_cast<unsigned char>(text[at - 3]);
  const auto last = static_cast<unsigned char>(text[at - 1]);
  return first >= 0xEA && first <= 0xED && last >= 0x80 && last < 0xC0;
}

/// The lines of `text` in which `word` begins as a word; a Korean particle may follow it.
std::vector<size_t> lines_with(const Flat& text, const std::string& word) {
  const auto wanted = Flat(word).letters;
  std::vector<size_t> found;
  for (auto at = text.letters.find(wanted); at != std::string::npos;
       at = text.letters.find(wanted, at + 1)) {
    const auto end = at + wanted.size();
    const bool inside = is_letter(wanted.front()) ? at > 0 && is_letter(text.letters[at - 1])
                                                  : hangul_before(text.letters, at);
    const bool goes_on =
        is_letter(wanted.back()) && end < text.letters.size() && is_letter(text.letters[end]);
    if (!inside && !goes_on) found.push_back(text.lines[at]);
  }
  return found;
}

void expect_glossary_holds_in(const std::string& path) {
  const Flat text(read_file(fs::path(VITRINE_SOURCE_DIR) / path));
  for (const auto& row : glossary())
    for (const auto& word : row.forbidden)
      for (const auto line : lines_with(text, word))
        ADD_FAILURE() << path << ":" << line << ": '" << word << "'; docs/glossary.md has '"
                      << row.english << "', '" << row.korean << "'";
}

}  // namespace

TEST(Glossary, HasBothLanguagesAndNoWordTwice) {
  const auto rows = glossary();
  EXPECT_GE(rows.size(), 30u);
  std::vector<std::string> words;
  for (const auto& row : rows) {
    EXPECT_FALSE(row.english.empty());
    EXPECT_FALSE(row.korean.empty()) << row.english;
    for (const auto& word : row.forbidden) {
      EXPECT_EQ(word, trimmed(word));
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
  EXPECT_EQ(lines_with(Flat("a\nthe Test\n  part"), "test part"), Lines{2});
  EXPECT_EQ(lines_with(Flat("\"the test \"\n  \"part\""), "test part"), Lines{1});
  EXPECT_EQ(lines_with(Flat("Picture, pictures, depicture"), "picture"), Lines{1});
  EXPECT_EQ(lines_with(Flat("편차의 평균\n표준편차의 합"), "편차의"), Lines{1});
  EXPECT_EQ(lines_with(Flat("한 에폭이 끝나면, 10에폭"), "에폭"), (Lines{1, 1}));
}

TEST(Glossary, HoldsInTheTexts) {
  for (const auto* path : kTexts) expect_glossary_holds_in(path);
}

TEST(Glossary, DISABLED_HoldsInTheOldTexts) {
  for (const auto* path : kOldTexts) expect_glossary_holds_in(path);
}

}  // namespace vitrine
