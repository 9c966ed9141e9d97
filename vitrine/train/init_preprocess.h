#pragma once

#include <string>
#include <vector>

#include "vitrine/train/config.h"

namespace vitrine {

/// Gives the recipe mean, std and interpolation of the images that weights were trained with.
void adopt_preprocess(Recipe& recipe, const Preprocess& theirs);

/// Lets images have the side that the recipe's model takes, unless the recipe says another one.
/// Data that the weights cannot take are a `UsageError`, which calls the weights `origin`.
void complete_preprocess(Recipe& recipe, const Preprocess& theirs, const std::string& origin);

/// Where the recipe differs from the normalisation that belongs to the weights.
std::vector<std::string> preprocess_notes(const Recipe& recipe, const Preprocess& theirs);

/// A whole number among a model's settings; 0 if it has none of that name.
int64_t model_number(const ModelChoice& model, const std::string& key);

}  // namespace vitrine
