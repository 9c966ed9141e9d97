#pragma once

#include <string>

#include "vitrine/cli/reference/command_reference.h"

namespace vitrine::cli {

/// The name of a command's page: "vitrine-data".
std::string man_page_name(const CommandReference& command);

/// The page of a command in section 1 of the manual, as troff. That of `program` lists its
/// commands, that of a command describes those below it.
std::string man_page(const CommandReference& command, const CommandReference& program);

}  // namespace vitrine::cli
