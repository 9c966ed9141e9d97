#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine::cli {

/// The inputs with each folder replaced by the image files in it and in those inside it, sorted.
/// Links to folders are not followed, as they may lead back. A folder that cannot be read or holds
/// no images throws, in the name of command `who`.
std::vector<fs::path> image_files_of(const std::vector<std::string>& inputs,
                                     const std::string& who);

}  // namespace vitrine::cli
