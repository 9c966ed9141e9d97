#pragma once

#include "vitrine/core/files.h"
#include "vitrine/labs/translations.h"

namespace vitrine::labs {

/// Writes <folder>/index.html and returns its path: the labs and exercises in the order of
/// learning, each with a link to its page or, where that is not in the folder, with the command
/// that makes it. The page needs nothing but itself and those it links.
fs::path write_index(const Translations& words, const fs::path& folder);

}  // namespace vitrine::labs
