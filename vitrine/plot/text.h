#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine::plot {

/// Valid UTF-8 on one line: control characters become spaces, broken bytes U+FFFD.
std::string clean_text(std::string_view text);
/// The same of each text.
std::vector<std::string> clean_texts(const std::vector<std::string>& texts);

/// About how wide the text is in DejaVu Sans (Noto Sans CJK for Hangul) of `size` pixels.
double text_width(std::string_view text, double size, bool bold = false);

/// The text in lines no wider than `width`, broken at spaces where possible; a text that needs
/// more than `max_lines` ends in an ellipsis.
std::vector<std::string> wrap_text(std::string_view text, double width, double size,
                                   size_t max_lines, bool bold = false);

}  // namespace vitrine::plot
