#pragma once

#include <memory>

#include "vitrine/models/model.h"

namespace vitrine {

/// A moving average of a model's weights, itself a model. Early on the average is short, so that
/// the first random weights are soon forgotten.
class EmaModel {
 public:
  /// `model` starts as a copy of `source`.
  EmaModel(std::shared_ptr<Model> model, const Model& source, double decay);
  void update(const Model& source, int64_t step);
  Model& model() { return *model_; }

 private:
  std::shared_ptr<Model> model_;
  double decay_;
};

}  // namespace vitrine
