#pragma once

#include "vitrine/cli/command.h"

namespace vitrine::cli {

// One per file of this folder.
Command data_command();

}  // namespace vitrine::cli
