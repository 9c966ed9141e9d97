#pragma once

#include <string>
#include <string_view>

namespace vitrine::plot {

/// Text that HTML, SVG and their quoted attributes show as it is.
std::string escape_markup(std::string_view text);

}  // namespace vitrine::plot
