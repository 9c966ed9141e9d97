#pragma once

#include <map>
#include <string>
#include <utility>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"

// The version of the format of checkpoints and resume states, which their metadata hold. It grows
// when a reader of the version before would misunderstand a file.
namespace vitrine {

/// A file that a later version of this program wrote, in a format that this one does not know.
class NewerFormatError : public Error {
 public:
  using Error::Error;
};

/// The current version, as an entry for the metadata.
std::pair<const std::string, std::string> format_version_entry();

/// Throws `NewerFormatError` if the metadata of `path` are of a later version. Files without a
/// version are of version 1.
void check_format_version(const std::map<std::string, std::string>& metadata, const fs::path& path);

}  // namespace vitrine
