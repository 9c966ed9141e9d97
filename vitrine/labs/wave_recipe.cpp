#include "vitrine/labs/wave_recipe.h"

#include <fmt/format.h>

#include "vitrine/core/settings.h"

namespace vitrine::labs {

Recipe recipe_of(const WaveRecipe& wish) {
  Recipe recipe;
  Settings::from_text(
      fmt::format("name: {name}\n"
                  "seed: {seed}\n"
                  "model: {{{model}}}\n"
                  "data: {{dataset: {{name: waves, length: {length}}}, batch: {batch}}}\n"
                  "train:\n"
                  "  epochs: {epochs}\n"
                  "  optimizer: {{kind: adam, lr: {rate}, weight_decay: 0}}\n"
                  "  schedule: {{kind: {schedule}, warmup_epochs: {warmup}}}\n"
                  "  clip: {clip}\n",
                  fmt::arg("name", wish.name), fmt::arg("seed", wish.seed),
                  fmt::arg("model", wish.model), fmt::arg("length", wish.length),
                  fmt::arg("batch", wish.batch), fmt::arg("epochs", wish.epochs),
                  fmt::arg("rate", wish.rate), fmt::arg("schedule", wish.schedule),
                  fmt::arg("warmup", wish.warmup_epochs), fmt::arg("clip", wish.clip)),
      wish.name)
      .read_into(recipe);
  recipe.validate();
  return recipe;
}

}  // namespace vitrine::labs
