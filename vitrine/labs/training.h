#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/train/run_result.h"

namespace vitrine {
class Model;
struct Recipe;
struct Splits;
}  // namespace vitrine

namespace vitrine::labs {

/// What a training run of a lab came to, with its curves over the evaluated epochs; that of the
/// validation split is of the selection metric.
struct LabRun {
  RunOutcome outcome{};
  std::vector<double> epochs{}, train_loss{}, validation_curve{};
};

/// Trains in the run folder `folder`, in place of a run that is there, and tests the best
/// checkpoint, whose weights the model keeps, in evaluation mode. Throws if the user interrupts it.
LabRun train_in_lab(const Recipe& recipe, const std::shared_ptr<Model>& model, const Splits& data,
                    const fs::path& folder);

/// How a lab trains a network on waves: what differs from one of its runs to another.
struct WaveRecipe {
  std::string name{};
  std::string model{};  // the recipe's `model` part as YAML: "name: wave_rnn, cell: lstm"
  int64_t length = 20;  // of the waves
  int64_t batch = 64;
  int64_t epochs = 1;
  double rate = 3e-3;
  std::string schedule = "cosine";
  int64_t warmup_epochs = 1;
  double clip = 0;
  uint64_t seed = 1;
};

Recipe recipe_of(const WaveRecipe& wish);

/// Mean squared error on the test waves of giving the last value once more.
double repeated_last_error(const Splits& waves);

}  // namespace vitrine::labs
