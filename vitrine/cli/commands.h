#pragma once

#include "vitrine/cli/command.h"

namespace vitrine::cli {

// One per file of this folder.
Command train_command();
Command data_command();

}  // namespace vitrine::cli
