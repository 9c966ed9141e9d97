#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/formula_weights.h"
#include "vitrine/core/files.h"
#include "vitrine/models/model.h"

namespace vitrine::test {

// Models of ours against numbers that tests/fixtures/make_*.py have made of others' code, with
// weights by the same formula.

constexpr double kOutput = 1e-4, kGradient = 1e-3;

/// What the script noted under `name` in its file of tests/fixtures.
inline nlohmann::json noted(const std::string& file, const std::string& name) {
  return nlohmann::json::parse(read_file(fs::path(VITRINE_SOURCE_DIR "/tests/fixtures") / file))
      .at(name);
}

/// The model gives these logits, as far as they go.
inline void expect_logits(Model& model, const torch::Tensor& x, const nlohmann::json& logits) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const auto output = model.forward(x).flatten();
  const auto values = logits.get<std::vector<double>>();
  const auto count = static_cast<int64_t>(values.size());
  ASSERT_LE(count, output.numel());
  const auto reference = torch::tensor(values, torch::kFloat);
  EXPECT_LT((output.narrow(0, 0, count) - reference).abs().max().item<double>(), kOutput);
}

/// Of a network of full size.
inline void expect_first_logits(Model& model, const std::string& name, const std::string& file) {
  const auto expected = noted(file, name);
  const int64_t S = expected["image"];
  fill_by_name(model);
  expect_logits(model, numbers("input", {1, 3, S, S}, 2), expected["output"]);
}

/// Of each parameter the norm of its gradient and the first numbers of it are noted.
inline void expect_gradients(const Model& model, const nlohmann::json& gradients) {
  EXPECT_EQ(model.named_parameters().size(), gradients.size());
  for (const auto& item : model.named_parameters()) {
    ASSERT_TRUE(gradients.contains(item.key())) << item.key();
    const auto values = gradients[item.key()].get<std::vector<double>>();
    const auto gradient = item.value().grad().to(torch::kDouble).flatten();
    const double norm = values[0], allowed = kGradient * (norm + 1e-3);
    EXPECT_NEAR(gradient.norm().item<double>(), norm, allowed) << item.key();
    for (size_t i = 1; i < values.size(); ++i)
      EXPECT_NEAR(gradient[i - 1].item<double>(), values[i], allowed) << item.key() << " " << i;
  }
}

/// `gradients_in`: the type in which gradients are compared, where any are noted; a deep network
/// amplifies rounding.
inline void expect_parity(Model& model, const std::string& name,
                          const std::string& file = "models.json",
                          torch::ScalarType gradients_in = torch::kFloat) {
  const auto expected = noted(file, name);
  const int64_t B = expected["batch"], S = expected["image"], N = expected["classes"];
  fill_by_name(model);
  const auto x = numbers("input", {B, 3, S, S}, 2);
  ASSERT_EQ(std::ssize(expected["output"]), B * N);
  expect_logits(model, x, expected["output"]);
  if (!expected.contains("gradients")) return;
  model.train();
  model.to(gradients_in);
  const auto targets = torch::arange(B) % N;
  const auto loss =
      torch::nn::functional::cross_entropy(model.forward(x.to(gradients_in)), targets);
  EXPECT_NEAR(loss.item<double>(), expected["loss"].get<double>(), kOutput);
  loss.backward();
  expect_gradients(model, expected["gradients"]);
}

}  // namespace vitrine::test
