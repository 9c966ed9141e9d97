#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine::test {

/// A row of docs/glossary.md.
struct GlossaryRow {
  std::string english, korean;
  std::vector<std::string> forbidden;
};

inline std::string trimmed(const std::string& text) {
  const auto from = text.find_first_not_of(' ');
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// The rows of the table in docs/glossary.md; the words of its last column stand between backticks.
inline std::vector<GlossaryRow> glossary() {
  std::vector<GlossaryRow> rows;
  for (const auto& line : split(read_file(VITRINE_SOURCE_DIR "/docs/glossary.md"), '\n')) {
    if (!line.starts_with("| ") || line.starts_with("| English |")) continue;
    const auto cells = split(line, '|');
    EXPECT_EQ(cells.size(), 6u) << line;
    if (cells.size() != 6) continue;
    GlossaryRow row{trimmed(cells[1]), trimmed(cells[2]), {}};
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

inline bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)); }

/// Whether a Hangul syllable ends just before `at` (three bytes in UTF-8, 0xEA to 0xED first).
inline bool hangul_before(const std::string& text, size_t at) {
  if (at < 3) return false;
  const auto first = static_cast<unsigned char>(text[at - 3]);
  const auto last = static_cast<unsigned char>(text[at - 1]);
  return first >= 0xEA && first <= 0xED && last >= 0x80 && last < 0xC0;
}

/// The lines of `text` in which `word` begins as a word; a Korean particle may follow it.
inline std::vector<size_t> lines_with(const Flat& text, const std::string& word) {
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

/// Fails for every word in `text` that the glossary forbids; `where` names the text.
inline void expect_glossary_holds(const std::string& where, const std::string& text) {
  const Flat flat(text);
  for (const auto& row : glossary())
    for (const auto& word : row.forbidden)
      for (const auto line : lines_with(flat, word))
        ADD_FAILURE() << where << ":" << line << ": '" << word << "'; docs/glossary.md has '"
                      << row.english << "', '" << row.korean << "'";
}

}  // namespace vitrine::test
