#include "vitrine/core/error.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/train/config.h"

namespace vitrine {

void check_sweep_recipes(const SweepConfig& config) {
  auto points = sweep_points(config);
  if (!config.learning_rates.empty()) points = with_learning_rates(points, config.learning_rates);
  for (const auto& point : points) {
    const auto overrides = run_overrides(point, config.seeds.at(0), config.budget);
    try {
      read_recipe(config.recipe.string(), overrides);
    } catch (const Error& e) {
      fail("sweep {}: {} (in the run with {})", config.name, e.what(), fmt::join(overrides, " "));
    }
  }
}

}  // namespace vitrine
