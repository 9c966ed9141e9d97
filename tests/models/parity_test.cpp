// ViT and ResNet against torchvision: see tests/fixtures/make_models.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/files.h"
#include "vitrine/models/resnet.h"
#include "vitrine/models/vit.h"

namespace vitrine {
namespace {

constexpr double kOutput = 1e-4, kGradient = 1e-3;

/// The generator's formula.
torch::Tensor numbers(const std::string& name, at::IntArrayRef shape, double scale) {
  uint32_t seed = 2166136261u;
  for (const unsigned char byte : name) seed = (seed ^ byte) * 16777619u;
  auto result = torch::empty(shape);
  auto* out = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); ++i) {
    uint32_t h = (static_cast<uint32_t>(i) ^ seed) * 0x7FEB352Du;
    h = (h ^ (h >> 15)) * 0x846CA68Bu;
    h ^= h >> 16;
    out[i] = static_cast<float>((h / 2147483648.0 - 1) * scale);
  }
  return result;
}

void fill(torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  const auto set = [](const std::string& name, torch::Tensor tensor) {
    if (tensor.scalar_type() != torch::kFloat) return;
    const bool matrix = tensor.dim() >= 2;
    tensor.copy_(numbers(name, tensor.sizes(), matrix ? std::sqrt(3.0 / tensor[0].numel()) : 0.1));
    if (!matrix && (name.ends_with("weight") || name.ends_with("running_var"))) tensor.add_(1);
  };
  for (const auto& item : model.named_parameters()) set(item.key(), item.value());
  for (const auto& item : model.named_buffers()) set(item.key(), item.value());
}

/// `gradients_in`: the type in which gradients are compared: a deep network amplifies rounding.
void expect_parity(Model& model, const std::string& name,
                   torch::ScalarType gradients_in = torch::kFloat) {
  const auto all =
      nlohmann::json::parse(read_file(VITRINE_SOURCE_DIR "/tests/fixtures/models.json"));
  const auto& expected = all.at(name);
  const int64_t B = expected["batch"], S = expected["image"], N = expected["classes"];
  fill(model);
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
  expect_parity(model, "resnet50", torch::kDouble);
}

}  // namespace vitrine
