#pragma once

#include <string>

#include "vitrine/inspect/cards/structure.h"

namespace vitrine {

/// The stages from left to right, as SVG: each with its grid of tokens and its numbers. It depends
/// on its arguments alone, so the same network gives the same bytes everywhere.
std::string structure_svg(const std::string& title, const ModelStructure& structure);

}  // namespace vitrine
