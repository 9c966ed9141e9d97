#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/precision.h"

namespace vitrine::serve {

/// What a model is for; each kind is a class of its own below `ServedModel`.
enum class ModelKind { Classifier, Generator, Adder };

/// What clients may know of any model.
struct ModelCard {
  std::string name, model, family;  // as it is served, as the registry calls it, its family
  int64_t parameters = 0;
};

/// A model that the server holds. What computes belongs on its queue; the rest may be called on any
/// thread.
class ServedModel {
 public:
  ServedModel() = default;
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;
  virtual ~ServedModel() = default;

  virtual ModelKind kind() const = 0;
  virtual const ModelCard& card() const = 0;
  /// What it does, for errors: "classifies images".
  virtual std::string purpose() const = 0;
  /// Rows of inputs to rows of outputs, for the batches of the queue; throws where there are none.
  virtual std::vector<float> forward(std::span<const float> inputs, int64_t rows) const;
};

/// Loads a run folder (its best checkpoint) or weights as the kind that fits the model's task;
/// throws for a task that is not served.
std::unique_ptr<const ServedModel> load_served_model(const std::string& name, const fs::path& path,
                                                     Precision precision);

}  // namespace vitrine::serve
