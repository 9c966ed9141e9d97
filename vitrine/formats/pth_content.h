#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "vitrine/formats/pickle.h"

namespace vitrine {

/// The pickle of a file of torch.save and the numbers of its storages by key.
struct PthContent {
  Pickle pickle;
  std::map<std::string, std::string_view> storages;
};

/// Reads a file of torch.save, of either form, from its bytes, which the result points into.
/// `check_numbers` compares the checksums of the storages that a zip holds; `done` is told each
/// part that has been read for that. Whatever does not fit throws an `Error` that names `where`.
PthContent read_pth_content(std::string_view bytes, bool check_numbers,
                            const std::function<void(std::string_view)>& done,
                            const std::string& where);

/// Whether every element of a tensor lies inside a storage of `count` numbers, and there are no
/// more of them than numbers.
bool lies_inside(const PickledTensor& tensor, int64_t count);

}  // namespace vitrine
