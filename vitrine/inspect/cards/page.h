#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// A file of the cards: its path within their folder, and its text.
struct CardFile {
  fs::path path;
  std::string text;
};

/// models.md, a card per family, and its figures. They depend on nothing but the program: the same
/// bytes on every machine.
std::vector<CardFile> model_cards();

/// Writes them below `folder` and returns where they are, models.md first.
std::vector<fs::path> write_model_cards(const fs::path& folder);

}  // namespace vitrine
