#pragma once

#include <functional>
#include <string>

#include "vitrine/core/files.h"

namespace vitrine {

/// Reads an archive (tar.gz, zip, ...) and hands over each file whose name, without folders,
/// `wanted` accepts. An unreadable or truncated archive throws.
void read_archive(const fs::path& path, const std::function<bool(const std::string& name)>& wanted,
                  const std::function<void(const std::string& name, std::string bytes)>& take);

}  // namespace vitrine
