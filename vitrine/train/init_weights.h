#pragma once

#include <set>
#include <string>
#include <vector>

#include "vitrine/train/config.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {

struct Splits;

/// Pre-trained weights that a run starts from: `init` of a recipe.
class InitWeights {
 public:
  /// Reads what a checkpoint, the best one of a run folder or published weights say of themselves;
  /// the weights are read by `load_into`.
  explicit InitWeights(std::string path);

  /// What a recipe need not say: the model, and mean, std and interpolation of its images.
  Recipe defaults() const;
  /// Completes a recipe that was read on top of the defaults: images have the side that the model
  /// takes. Another model, and data that the weights cannot take, are a `UsageError`.
  void complete(Recipe& recipe) const;

  /// Gives the model as many classes as the data have, unless the recipe changed their number, and
  /// the weights a head of zeros if the classes are not those that they were trained with.
  void fit(Recipe& recipe, const Splits& data);
  /// The same for the recipe of a run that began with these weights.
  void fit(Recipe& recipe, const Recipe& stored) const;
  /// Fills the fitted recipe's model; positions of another grid are interpolated. Returns what
  /// became of the tensors, in a sentence.
  std::string load_into(Model& model) const;
  /// Where the recipe differs from the normalisation that belongs to the weights.
  std::vector<std::string> notes(const Recipe& recipe) const;

 private:
  void set_classes(Recipe& recipe, int64_t classes) const;

  std::string path_;
  CheckpointInfo info_;
  int64_t new_head_ = 0;  // its classes; 0: the head is the file's
};

/// The colours that the model was trained with, if there are any, in place of those of the data.
void keep_palette(Recipe& recipe, Model& model);

}  // namespace vitrine
