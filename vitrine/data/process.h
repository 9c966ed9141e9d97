#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// How a program ended and all it wrote to its two outputs.
struct ProcessResult {
  int status = 0;
  std::string output;
};

/// Runs a program found on the PATH in `folder` and waits for it; throws if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const fs::path& folder);

}  // namespace vitrine
