// Hybrids by others' names: small files with those names must give what our own model gives.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/formula_weights.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

struct HybridCase {
  std::string source, blocks, standardize;
  double norm_eps;
  std::string activation, tensor;  // one of theirs
};

class HybridNames : public testing::TestWithParam<HybridCase> {
 protected:
  HybridNames() {
    const auto& c = GetParam();
    choice =
        read_model("name: r_vit_ti16",
                   {"image=32", "patch=2", "classes=5", "dim=192", "depth=2", "heads=3",
                    "hidden=96", "backbone.width=32", "backbone.blocks=" + c.blocks,
                    "backbone.standardize=" + c.standardize,
                    fmt::format("backbone.norm_eps={}", c.norm_eps), "activation=" + c.activation},
                   "test");
    torch::manual_seed(3);
    model = choice.build();
    test::shake(*model, 0.02);
    model->eval();
    file.tensors = exported(importers().get(c.source).map, named_weights(*model),
                            weight_shapes(*model), /*heads=*/3);
  }
  ImportedModel imported(const std::vector<std::string>& settings = {}) const {
    save_safetensors(folder / "a.safetensors", file);
    return import_weights(folder / "a.safetensors", {.settings = settings});
  }

  test::TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

}  // namespace

TEST_P(HybridNames, RoundTripIsExact) {
  const torch::NoGradGuard no_grad;
  const auto back = imported();
  EXPECT_EQ(back.source, GetParam().source);
  EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(choice));
  EXPECT_EQ(to_yaml(stored_info(folder / "a.safetensors").model), to_yaml(choice));
  const auto x = model->example_input(2);
  EXPECT_TRUE(back.checkpoint.model->forward(x).equal(model->forward(x)));
  EXPECT_EQ(back.checkpoint.info.preprocess->mean, std::vector<double>({0.5, 0.5, 0.5}));
  EXPECT_EQ(back.account.count(LoadStatus::Loaded) + back.account.count(LoadStatus::Converted),
            std::ssize(file.tensors));
}

TEST_P(HybridNames, AnotherImageInterpolatesThePositions) {
  const auto larger = imported({"image=64"});
  EXPECT_EQ(larger.account.count(LoadStatus::Resized), 1);
  EXPECT_EQ(larger.checkpoint.model->image_tokens()->rows, 2 * model->image_tokens()->rows);
}

TEST_P(HybridNames, NamesTheTensorThatIsMissing) {
  const auto name = GetParam().tensor;
  const auto before = file.tensors.size();
  std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; });
  ASSERT_EQ(file.tensors.size() + 1, before);
  EXPECT_TRUE(test::contains(test::error_of([&] { imported(); }),
                             fmt::format("lacks '{}'; is the file complete?", name)));
}

TEST_P(HybridNames, RefusesATensorOfAnotherShape) {
  for (auto& [name, value] : file.tensors)
    if (name == GetParam().tensor) value = torch::zeros({3, 3, 5, 7});
  EXPECT_TRUE(test::contains(
      test::error_of([&] { imported(); }),
      fmt::format("'{}' is 3x3x5x7, the other weights ask for ", GetParam().tensor)));
}

INSTANTIATE_TEST_SUITE_P(
    Sources, HybridNames,
    testing::Values(HybridCase{"timm_hybrid", "[1, 2]", "variance", 1e-5, "gelu",
                               "patch_embed.backbone.stages.1.blocks.1.conv2.weight"},
                    HybridCase{"timm_hybrid_stem", "[]", "variance", 1e-5, "gelu",
                               "patch_embed.backbone.norm.weight"},
                    HybridCase{"google_hybrid", "[1, 2]", "std", 1e-6, "gelu_tanh",
                               "block2/unit2/conv2/kernel"}),
    [](const auto& test) { return test.param.source; });

TEST(HybridNamesOfGoogle, AFileGivesWhatTimmMakesOfIt) {
  const auto expected =
      nlohmann::json::parse(read_file(VITRINE_SOURCE_DIR "/tests/fixtures/hybrid.json"))["google"];
  const test::TemporaryFolder folder;
  TensorFile file;
  for (const auto& [name, sizes] : expected["shapes"].items()) {
    const auto shape = sizes.get<std::vector<int64_t>>();
    const auto count = c10::multiply_integers(shape);
    const bool vector = *std::max_element(shape.begin(), shape.end()) == count;
    const auto fan_in = static_cast<double>(count) / static_cast<double>(shape.back());
    auto tensor = test::numbers(name, shape, vector ? 0.1 : std::sqrt(3 / fan_in));
    if (name.ends_with("scale")) tensor.add_(1);
    file.tensors.emplace_back(name, tensor);
  }
  save_safetensors(folder / "a.safetensors", file);
  // timm computes a little differently from Google.
  const auto back = import_weights(
      folder / "a.safetensors",
      {.settings = {"backbone.standardize=variance", "backbone.norm_eps=1e-5", "activation=gelu"}});
  EXPECT_EQ(back.source, "google_hybrid");
  const int64_t image = expected["image"];
  EXPECT_EQ(back.checkpoint.model->image_shape()->image, image);
  EXPECT_TRUE(back.checkpoint.info.preprocess->stretch);
  const torch::NoGradGuard no_grad;
  const auto x = test::numbers("input", {1, 3, image, image}, 2);
  const auto wanted = torch::tensor(expected["output"].get<std::vector<double>>(), torch::kFloat);
  EXPECT_LT((back.checkpoint.model->forward(x)[0] - wanted).abs().max().item<double>(), 1e-4);
}

TEST(HybridNamesOfGoogle, GroupNormVectorsMayHaveOneDimension) {
  const test::TemporaryFolder folder;
  const auto choice =
      read_model("name: r_vit_ti16",
                 {"image=32", "patch=2", "classes=5", "dim=64", "depth=1", "heads=1", "hidden=96",
                  "backbone.width=32", "backbone.blocks=[1]", "activation=gelu_tanh"},
                 "test");
  const auto model = choice.build();
  test::shake(*model, 0.02);
  model->eval();
  TensorFile file;
  file.tensors = exported(importers().get("google_hybrid").map, named_weights(*model),
                          weight_shapes(*model), /*heads=*/1);
  int64_t narrowed = 0;
  for (auto& [name, tensor] : file.tensors)
    if (name.find("/gn") != name.npos || name.starts_with("gn_root")) {
      EXPECT_EQ(tensor.dim(), 4) << name;
      tensor = tensor.flatten();
      ++narrowed;
    }
  EXPECT_EQ(narrowed, 2 * (1 + 3 + 1));
  save_safetensors(folder / "a.safetensors", file);
  const torch::NoGradGuard no_grad;
  const auto x = model->example_input(1);
  const auto back = import_weights(folder / "a.safetensors", {}).checkpoint.model;
  EXPECT_TRUE(back->forward(x).equal(model->forward(x)));
}

}  // namespace vitrine
