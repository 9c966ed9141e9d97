#include "vitrine/report/terminal.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "vitrine/plot/text.h"

namespace vitrine::report {
namespace {

using Range = std::pair<char32_t, char32_t>;

/// What Unicode's East Asian Width calls wide or full-width, but for rarities.
constexpr std::array<Range, 14> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0x4DBF},
                                          {0x4E00, 0xA4CF},
                                          {0xA960, 0xA97F},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF01, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1F64F},
                                          {0x1F680, 0x1F6FF},
                                          {0x1F900, 0x1F9FF},
                                          {0x20000, 0x3FFFD}}};

/// Accents, the later letters of a Hangul syllable spelt letter by letter, joiners.
constexpr std::array<Range, 5> kZero = {
    {{0x0300, 0x036F}, {0x1160, 0x11FF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

template <size_t N>
bool within(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& r) { return r.first <= c && c <= r.second; });
}

/// The characters of valid UTF-8.
std::u32string code_points(std::string_view text) {
  std::u32string result;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80)
      result += char32_t{byte};
    else if (byte >= 0xC0)
      result += static_cast<char32_t>(byte & (byte < 0xE0 ? 0x1F : byte < 0xF0 ? 0x0F : 0x07));
    else
      result.back() = result.back() << 6 | (byte & 0x3F);
  }
  return result;
}

std::string spaces(int64_t count) {
  return std::string(static_cast<size_t>(std::max<int64_t>(count, 0)), ' ');
}

struct Columns {
  std::vector<int64_t> widths{};
  std::vector<bool> numbers{};
};

Columns columns_of(const plot::Table& table) {
  Columns columns{.numbers = plot::number_columns(table.header, table.rows)};
  for (size_t c = 0; c < table.header.size(); ++c) {
    columns.widths.push_back(display_width(table.header[c]));
    for (const auto& row : table.rows)
      columns.widths[c] = std::max(columns.widths[c], display_width(row.at(c)));
  }
  return columns;
}

std::string row_text(const std::vector<std::string>& cells, const Columns& columns) {
  std::string line;
  for (size_t c = 0; c < columns.widths.size(); ++c) {
    const auto cell = plot::clean_text(cells.at(c));
    const auto fill = spaces(columns.widths[c] - display_width(cell));
    line += (c > 0 ? "  " : "") + (columns.numbers[c] ? fill + cell : cell + fill);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

}  // namespace

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  for (const char32_t c : code_points(plot::clean_text(text)))
    width += within(kWide, c) ? 2 : within(kZero, c) ? 0 : 1;
  return width;
}

std::string wrapped(std::string_view text, std::string_view head) {
  const auto indent = spaces(display_width(head));
  std::istringstream words(plot::clean_text(text));
  std::string lines, line(head);
  bool empty = true;
  for (std::string word; words >> word; empty = false) {
    if (!empty && display_width(line + " " + word) > kColumns) {
      lines += line + '\n';
      line = indent;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
  }
  return lines + line + '\n';
}

std::string indented(std::string_view text, int64_t columns) {
  std::istringstream lines{std::string(text)};
  std::string result;
  for (std::string line; std::getline(lines, line);) result += spaces(columns) + line + '\n';
  return result;
}

std::string underlined(const std::string& text, char dashes) {
  return text + '\n' + std::string(static_cast<size_t>(display_width(text)), dashes) + '\n';
}

std::string table_text(const plot::Table& table) {
  const auto columns = columns_of(table);
  std::vector<std::string> rule;
  for (const auto width : columns.widths) rule.emplace_back(static_cast<size_t>(width), '-');
  auto text = row_text(table.header, columns) + row_text(rule, columns);
  for (const auto& row : table.rows) text += row_text(row, columns);
  return text;
}

}  // namespace vitrine::report
