#pragma once

#include <map>
#include <string>
#include <string_view>

#include "vitrine/formats/pickle.h"

namespace vitrine {

/// A file of torch.save before PyTorch 1.6: five pickles (a magic number, the version, the machine,
/// the value, the keys of its storages), then the storages, each behind its count of numbers.
struct LegacyPth {
  Pickle pickle;                                     // the value
  std::map<std::string, std::string_view> storages;  // bytes by key
};

/// Whether the bytes begin with the magic number.
bool is_legacy_pth(std::string_view bytes);

/// Reads such a file; whatever does not fit throws an `Error` that names `where`.
LegacyPth read_legacy_pth(std::string_view bytes, const std::string& where);

}  // namespace vitrine
