#pragma once

#include <string>

namespace vitrine::cli {

/// Of this program: "0.1.0".
std::string version();

/// What `vitrine --version` prints: the program's version alone in the first line, then what it
/// computes with.
std::string version_text();

}  // namespace vitrine::cli
