#pragma once

#include <memory>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/train/run_result.h"

namespace vitrine {
class BatchSource;
class Model;
struct Batch;
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

/// Every example, as it is.
Batch all_examples(const BatchSource& source);

/// Trains in the run folder `folder`, in place of a run that is there, and tests the best
/// checkpoint, whose weights the model keeps, in evaluation mode. Throws if the user interrupts it.
LabRun train_in_lab(const Recipe& recipe, std::shared_ptr<Model> model, const Splits& data,
                    const fs::path& folder);

}  // namespace vitrine::labs
