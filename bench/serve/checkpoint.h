#pragma once

#include <string>

#include "vitrine/core/files.h"

namespace vitrine::bench {

/// Stores a registered image classifier with random weights, which answers differently to different
/// images.
void save_random_checkpoint(const fs::path& path, const std::string& model);

}  // namespace vitrine::bench
