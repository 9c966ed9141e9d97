#include "vitrine/plot/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace vitrine::plot {
namespace {

constexpr std::string_view kReplacement = "\uFFFD", kEllipsis = "…";

/// Advance widths of ' ' .. '~' in DejaVu Sans, in hundredths of the font size.
constexpr std::array<uint8_t, 95> kAdvance = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};

constexpr double kBoldFactor = 1.11;

/// The bytes of the character that starts at `at`: 0 if they are not valid UTF-8.
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  if (length > 1) {
    const uint8_t second = byte(at + 1);
    const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool surrogate = first == 0xED && second >= 0xA0;
    const bool beyond = first == 0xF4 && second >= 0x90;
    const bool not_a_character =
        first == 0xEF && second == 0xBF && length == 3 && byte(at + 2) >= 0xBE;
    if (overlong || surrogate || beyond || not_a_character) return 0;
  }
  return length;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(character_length(text, at), 1);
    result.push_back(text.substr(at, length));
    at += length;
  }
  return result;
}

double advance(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (first >= 0x20 && first < 0x7F) return kAdvance[first - 0x20] / 100.0;
  if (first == 0xCC || first == 0xCD) return 0;  // combining accents
  if (first < 0xE1) return 0.68;                 // accented Latin, Greek, Cyrillic
  if (first == 0xE2) return 0.75;                // arrows, mathematics, punctuation
  return 1.0;                                    // Hangul and Han are as wide as high
}

/// As much of the text as fits with an ellipsis behind it.
std::string shorten(std::string_view text, double width, double size, bool bold) {
  std::string kept;
  for (const auto character : characters(text)) {
    if (text_width(kept + std::string(character) + std::string(kEllipsis), size, bold) > width)
      break;
    kept += character;
  }
  return kept + std::string(kEllipsis);
}

/// The words of a text; one too wide for a line comes in pieces that fit.
std::vector<std::string> pieces(std::string_view text, double width, double size, bool bold) {
  std::vector<std::string> result;
  std::string piece;
  for (const auto character : characters(text)) {
    if (character == " ") {
      if (!piece.empty()) result.push_back(std::exchange(piece, ""));
      continue;
    }
    if (!piece.empty() && text_width(piece + std::string(character), size, bold) > width)
      result.push_back(std::exchange(piece, ""));
    piece += character;
  }
  if (!piece.empty()) result.push_back(piece);
  return result;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    const auto first = static_cast<uint8_t>(text[at]);
    const bool c1_control =
        length == 2 && first == 0xC2 && static_cast<uint8_t>(text[at + 1]) < 0xA0;
    if (length == 0)
      result += kReplacement;
    else if (first < 0x20 || first == 0x7F || c1_control)
      result += ' ';
    else
      result += text.substr(at, length);
    at += std::max<size_t>(length, 1);
  }
  return result;
}

std::vector<std::string> clean_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const auto& text : texts) result.push_back(clean_text(text));
  return result;
}

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  for (const auto character : characters(text)) width += advance(character);
  return width * size * (bold ? kBoldFactor : 1);
}

std::vector<std::string> wrap_text(std::string_view text, double width, double size,
                                   size_t max_lines, bool bold) {
  std::vector<std::string> lines;
  for (const auto& piece : pieces(clean_text(text), width, size, bold)) {
    if (!lines.empty() && text_width(lines.back() + " " + piece, size, bold) <= width)
      lines.back() += " " + piece;
    else
      lines.push_back(piece);
  }
  if (lines.size() > max_lines) {
    lines.resize(max_lines);
    lines.back() = shorten(lines.back(), width, size, bold);
  }
  return lines;
}

}  // namespace vitrine::plot
