#include "vitrine/serve/engine/test_images.h"

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/image_splits.h"
#include "vitrine/train/predictions.h"

namespace vitrine::serve {
namespace {

/// What of a recipe decides the images of a run.
struct DataOfRecipe {
  int64_t seed = 1;
  DataConfig data{};

  void visit(Fields& f) {
    f("seed", seed, "");
    f.group("data", data, "");
  }
};

std::shared_ptr<const Dataset> open_test_images(const RunFolder& run) {
  DataOfRecipe recipe;
  Settings::from_file(run.recipe().string()).read_part_into(recipe);
  recipe.data.validate();
  auto images = open_image_split(recipe.data, static_cast<uint64_t>(recipe.seed), Split::Test);
  for (const auto& e : read_predictions(run.predictions()).examples)
    check(e.index < images->size() && images->label(e.index) == e.truth,
          "run {}: data set '{}' has changed since the run was tested (example {} was of class "
          "{}); give it the data of that time, or train again",
          run.path().filename().string(), recipe.data.dataset.name(), e.index, e.truth);
  return images;
}

}  // namespace

std::shared_ptr<const Dataset> TestImages::of(const RunFolder& run) {
  const std::lock_guard lock(mutex_);
  const Key key{.run = run.path(),
                .recipe = fs::last_write_time(run.recipe()),
                .predictions = fs::last_write_time(run.predictions())};
  if (images_ && key == key_) return images_;
  images_.reset();  // two data sets are never held at once
  images_ = open_test_images(run);
  key_ = key;
  return images_;
}

}  // namespace vitrine::serve
