#pragma once

#include <string>

#include "vitrine/cli/reference/command_reference.h"

namespace vitrine::cli {

// Scripts that have a shell complete the program's command lines: commands, options, and the values
// that options and arguments take.
std::string bash_completion(const CommandReference& program);
std::string zsh_completion(const CommandReference& program);
std::string fish_completion(const CommandReference& program);

}  // namespace vitrine::cli
