#pragma once

#include <string>
#include <vector>

#include "vitrine/train/config.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {

/// Pre-trained weights that fill only the backbone of a hybrid: `init_backbone` of a recipe.
class InitBackbone {
 public:
  /// Reads a checkpoint, the best one of a run folder or published weights. Throws unless the model
  /// can be a backbone.
  explicit InitBackbone(std::string path);

  /// What a recipe for this model need not say: the settings of its backbone, and mean, std and
  /// interpolation of its images.
  Recipe defaults(const std::string& model) const;
  /// Completes a recipe that was read on top of the defaults, as `InitWeights` does.
  void complete(Recipe& recipe) const;

  /// Fills the model's backbone, which may have fewer stages; nothing else of the model changes.
  /// Throws unless every weight of the backbone is there. Returns what became of the tensors, in a
  /// sentence.
  std::string load_into(Model& model) const;
  /// Where the recipe differs from the normalisation that belongs to the weights.
  std::vector<std::string> notes(const Recipe& recipe) const;

 private:
  std::string path_;
  LoadedCheckpoint loaded_;
};

}  // namespace vitrine
