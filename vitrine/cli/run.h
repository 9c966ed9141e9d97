#pragma once

#include <string>
#include <vector>

#include "vitrine/cli/command.h"

namespace vitrine::cli {

/// Parses and runs a whole command line (without the program's name). 0: done. 2: misuse, which is
/// a command line that cannot be parsed or, there or in a recipe, an unknown key or name or a value
/// out of its range (`UsageError`). 1: all else that fails.
int run(std::vector<std::string> arguments, Streams streams);

}  // namespace vitrine::cli
