#pragma once

#include <string>
#include <vector>

#include "vitrine/core/settings.h"
#include "vitrine/data/image_splits.h"
#include "vitrine/models/model.h"
#include "vitrine/train/config.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::test {

/// A tiny model with random weights, saved as if it had been trained on synthetic images of
/// 16 x 16 pixels in four classes.
inline void save_small_checkpoint(const fs::path& path, const std::string& model,
                                  const std::vector<std::string>& overrides = {}) {
  auto settings = Settings::from_text(
      "{name: small, model: {name: " + model +
          ", image: 16, classes: 4}, data: {dataset: {name: synthetic, train: 40, test: 24, "
          "image: 16, classes: 4}, batch: 8}}",
      "test");
  for (const auto& assignment : overrides) settings.override_with(assignment);
  Recipe recipe;
  settings.read_into(recipe);
  recipe.data = resolved_data_config(recipe.data);
  torch::manual_seed(1);
  const auto built = recipe.model.build();
  const auto data = open_image_split(recipe.data, 1, Split::Test);
  save_checkpoint(path, *built,
                  {.model = recipe.model,
                   .preprocess = preprocess_of(recipe.data),
                   .classes = data->classes(),
                   .recipe = to_yaml(recipe),
                   .epoch = 1,
                   .step = 5});
}

inline const std::vector<std::string> kSmallVit = {"model.patch=4", "model.dim=32", "model.depth=2",
                                                   "model.heads=2", "model.hidden=64"};

}  // namespace vitrine::test
