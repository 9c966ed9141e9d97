#pragma once

#include <torch/torch.h>

#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"

namespace vitrine::test {

/// The greatest difference between a decoder's logits step by step and those of its forward pass.
inline double step_error(Model& model) {
  model.eval();
  const torch::NoGradGuard no_grad;
  const auto& decoder = *model.decoder();
  auto tokens = model.example_input(3);
  auto expected = model.forward(tokens);
  if (const auto order = decoder.reading_order(); order.defined()) {
    tokens = tokens.index_select(1, order);
    expected = expected.index_select(1, order);
  }
  const auto state = decoder.make_state(3);
  const int64_t unseen = decoder.predicts_first() ? 1 : 0;
  double error = 0;
  for (int64_t t = 0; t < decoder.context(); ++t) {
    const auto previous = t < unseen ? torch::Tensor() : tokens.select(1, t - unseen);
    const auto difference = decoder.step(previous, *state) - expected.select(1, t);
    error = std::max(error, difference.abs().max().item<double>());
  }
  return error;
}

}  // namespace vitrine::test
