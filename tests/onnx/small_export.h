#pragma once

#include <torch/torch.h>

#include <string>

#include "tests/support/shake.h"
#include "tests/support/small_model.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::test {

/// The named model, small, with random weights, as if it had been loaded from a checkpoint.
/// `settings` are YAML lines on top.
inline LoadedCheckpoint small_checkpoint(const std::string& name,
                                         const std::string& settings = "") {
  auto choice = small(name);
  Settings::from_text("name: " + name + "\n" + settings, "test").read_into(choice);
  torch::manual_seed(1);
  const auto model = choice.build();
  // Heads that start at zero would answer nothing. Convolutions add up thousands of numbers.
  shake(*model, model->image_shape() ? 0.01 : 0.05);
  model->eval();
  LoadedCheckpoint made{model, {.model = choice}};
  if (model->image_shape()) {
    made.info.preprocess = Preprocess{.mean = {0.1, 0.2, 0.3}, .std = {0.4, 0.5, 0.6}};
    made.info.classes = {"a", "b", "c", "d", "e"};
  }
  return made;
}

/// Models of the registry that the export refuses, and the operator that it does not know.
inline const std::map<std::string, std::string>& refused_models() {
  static const std::map<std::string, std::string> list = {{"wave_rnn", "aten::rnn_tanh"}};
  return list;
}

}  // namespace vitrine::test
