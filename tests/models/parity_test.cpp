// ViT and ResNets against torchvision, hybrids against timm: see tests/fixtures/make_models.py
// and make_hybrid.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/formula_weights.h"
#include "vitrine/core/files.h"
#include "vitrine/models/resnet.h"
#include "vitrine/models/vit.h"

namespace vitrine {
namespace {

constexpr double kOutput = 1e-4, kGradient = 1e-3;

using test::numbers;

/// `gradients_in`: the type in which gradients are compared; a deep network amplifies rounding.
void expect_parity(Model& model, const std::string& name, const std::string& file = "models.json",
                   torch::ScalarType gradients_in = torch::kFloat) {
  const auto all =
      nlohmann::json::parse(read_file(fs::path(VITRINE_SOURCE_DIR "/tests/fixtures") / file));
  const auto& expected = all.at(name);
  const int64_t B = expected["batch"], S = expected["image"], N = expected["classes"];
  test::fill_by_name(model);
  const auto x = numbers("input", {B, 3, S, S}, 2);
  {
    const torch::NoGradGuard no_grad;
    model.eval();
    const auto output = model.forward(x).flatten();
    const auto values = expected["output"].get<std::vector<double>>();
    ASSERT_EQ(output.numel(), static_cast<int64_t>(values.size()));
    const auto reference = torch::tensor(values, torch::kFloat);
    EXPECT_LT((output - reference).abs().max().item<double>(), kOutput);
  }
  model.train();
  model.to(gradients_in);
  const auto targets = torch::arange(B) % N;
  const auto loss =
      torch::nn::functional::cross_entropy(model.forward(x.to(gradients_in)), targets);
  EXPECT_NEAR(loss.item<double>(), expected["loss"].get<double>(), kOutput);
  loss.backward();
  const auto& gradients = expected["gradients"];
  EXPECT_EQ(model.named_parameters().size(), gradients.size());
  for (const auto& item : model.named_parameters()) {
    ASSERT_TRUE(gradients.contains(item.key())) << item.key();
    const auto values = gradients[item.key()].get<std::vector<double>>();
    const auto gradient = item.value().grad().to(torch::kDouble).flatten();
    const double norm = values[0];
    EXPECT_NEAR(gradient.norm().item<double>(), norm, kGradient * (norm + 1e-3)) << item.key();
    for (size_t i = 1; i < values.size(); ++i)
      EXPECT_NEAR(gradient[i - 1].item<double>(), values[i], kGradient * (norm + 1e-3))
          << item.key() << " " << i;
  }
}

}  // namespace

TEST(Parity, ASmallVitEqualsTorchvision) {
  Vit model(
      {.image = 32, .patch = 8, .classes = 10, .dim = 64, .depth = 3, .heads = 4, .hidden = 128});
  expect_parity(model, "vit_small");
}

TEST(Parity, VitB16EqualsTorchvision) {
  Vit model(vit_b16());
  expect_parity(model, "vit_b16");
}

TEST(Parity, ResNet18EqualsTorchvision) {
  auto config = resnet18();
  config.image = 64;
  config.classes = 10;
  ResNet model(config);
  expect_parity(model, "resnet18");
}

TEST(Parity, ResNet50EqualsTorchvision) {
  auto config = resnet50();
  config.image = 64;
  config.classes = 10;
  ResNet model(config);
  expect_parity(model, "resnet50", "models.json", torch::kDouble);
}

/// timm divides kernels by sqrt(var + 1e-8) and has another epsilon in GroupNorm than Google.
VitConfig small_timm_hybrid(int64_t image, int64_t patch, std::vector<int64_t> blocks) {
  return {.image = image,
          .patch = patch,
          .classes = 10,
          .dim = 48,
          .depth = 2,
          .heads = 3,
          .hidden = 96,
          .backbone = {.kind = BackboneKind::Bit,
                       .blocks = std::move(blocks),
                       .width = 32,
                       .standardize = Standardization::Variance,
                       .norm_eps = 1e-5}};
}

TEST(Parity, AHybridEqualsTimm) {
  Vit model(small_timm_hybrid(/*image=*/64, /*patch=*/1, {1, 2}));
  expect_parity(model, "stages", "hybrid.json");
}

TEST(Parity, AHybridWhoseMapsHaveOddSidesEqualsTimm) {
  Vit model(small_timm_hybrid(/*image=*/58, /*patch=*/2, {1, 1}));
  expect_parity(model, "odd", "hybrid.json");
}

TEST(Parity, AHybridOfTheStemAloneEqualsTimm) {
  Vit model(small_timm_hybrid(/*image=*/32, /*patch=*/4, {}));
  expect_parity(model, "stem", "hybrid.json");
}

}  // namespace vitrine
