#pragma once

#include <string>

#include "vitrine/core/files.h"

namespace vitrine {

/// Downloads `url` to `path` with a progress bar; throws with the cause, leaving no file behind.
/// Gives up soon where there is no network.
void download(const std::string& url, const fs::path& path);

}  // namespace vitrine
