#pragma once

#include <string_view>

namespace vitrine {

/// No JSON that we take from others needs more levels.
inline constexpr int kJsonLevels = 64;

/// Whether a JSON text nests lists and objects deeper than `levels`. Copying and printing what was
/// parsed of it recurses, so a few kilobytes of brackets would be too much for the stack.
bool is_nested_deeper(std::string_view json, int levels = kJsonLevels);

}  // namespace vitrine
