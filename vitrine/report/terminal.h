#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vitrine/plot/page.h"

namespace vitrine::report {

/// How wide reports are written on a terminal.
constexpr int64_t kColumns = 88;

/// Columns that a text takes on a terminal: two for Hangul, Han and other wide characters, none for
/// combining marks.
int64_t display_width(std::string_view text);

/// The text in lines of at most `kColumns` columns, broken at spaces; a word wider than that has a
/// line of its own. The first line starts with `head`, the others are indented as far. Each line
/// ends with '\n'.
std::string wrapped(std::string_view text, std::string_view head = "");

/// Every line of a text behind `columns` spaces, each ended by '\n'.
std::string indented(std::string_view text, int64_t columns);

/// The text and a line of `dashes` under it as long as it is wide, each ended by '\n'.
std::string underlined(const std::string& text, char dashes);

/// The header, a rule and the rows in aligned columns, those of numbers set to the right; without
/// the title.
std::string table_text(const plot::Table& table);

}  // namespace vitrine::report
