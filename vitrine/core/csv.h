#pragma once

#include <string>
#include <vector>

namespace vitrine {

/// A line of a CSV file (RFC 4180): cells with quotes, commas or line breaks are quoted.
inline std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const auto& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    if (cell.find_first_of("\",\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) line += c == '"' ? "\"\"" : std::string(1, c);
    line += '"';
  }
  return line + '\n';
}

}  // namespace vitrine
