// ViT by others' names: small files with those names must give what our own model gives.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

const std::vector<std::string> kSmall = {"image=16", "patch=4", "classes=5", "dim=64",
                                         "depth=3",  "heads=1", "hidden=96"};

struct Case {
  std::string source, query;  // `query`: a tensor of theirs that is (dim, dim)
  double eps;
};

class VitNames : public testing::TestWithParam<Case> {
 protected:
  VitNames() {
    auto settings = kSmall;
    settings.push_back(fmt::format("norm_eps={}", GetParam().eps));
    choice = read_model("name: vit_ti16", settings, "test");
    torch::manual_seed(3);
    model = choice.build();
    model->eval();
    file.tensors = exported(importers().get(GetParam().source).map, named_weights(*model),
                            weight_shapes(*model));
  }
  torch::Tensor& tensor(const std::string& name) {
    for (auto& [known, value] : file.tensors)
      if (known == name) return value;
    return file.tensors.emplace_back(name, torch::Tensor()).second;
  }
  ImportedModel imported(const std::vector<std::string>& settings = {}) const {
    save_safetensors(folder / "a.safetensors", file);
    return import_weights(folder / "a.safetensors", settings);
  }
  std::string message(const std::vector<std::string>& settings = {}) const {
    return test::error_of([&] { imported(settings); });
  }

  test::TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

TEST_P(VitNames, RoundTripIsExact) {
  const torch::NoGradGuard no_grad;
  const auto back = imported();
  EXPECT_EQ(back.source, GetParam().source);
  EXPECT_FALSE(back.checkpoint.model->is_training());
  const auto x = model->example_input(2);
  EXPECT_TRUE(back.checkpoint.model->forward(x).equal(model->forward(x)));
  auto expected = whole_numbers(choice), found = whole_numbers(back.checkpoint.info.model);
  EXPECT_EQ(found, expected);
  const auto weights = named_weights(*model), others = named_weights(*back.checkpoint.model);
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(weights[i].second.equal(others[i].second));
}

TEST_P(VitNames, AccountsForEveryTensor) {
  const auto account = imported().account;
  EXPECT_EQ(std::ssize(account.notes), std::ssize(file.tensors));
  EXPECT_EQ(account.count(LoadStatus::Loaded) + account.count(LoadStatus::Converted),
            std::ssize(file.tensors));
  for (const auto& [name, value] : file.tensors)
    EXPECT_TRUE(test::contains(account.lines(), "  " + name));
  EXPECT_TRUE(test::contains(account.summary(), fmt::format("{} tensors: ", file.tensors.size())));
}

TEST_P(VitNames, PreprocessAndClassesComeAlong) {
  const auto info = imported().checkpoint.info;
  ASSERT_TRUE(info.preprocess.has_value());
  EXPECT_EQ(info.preprocess->image, 16);
  EXPECT_GT(info.preprocess->resize, 16);
  EXPECT_EQ(info.preprocess->mean, std::vector<double>({0.5, 0.5, 0.5}));
  EXPECT_EQ(info.classes.size(), 5);
  EXPECT_EQ(info.classes[4], "class 4");
}

TEST_P(VitNames, AnotherImageInterpolatesThePositions) {
  const auto larger = imported({"image=32"});
  EXPECT_EQ(larger.account.count(LoadStatus::Resized), 1);
  EXPECT_TRUE(test::contains(larger.account.lines(), "1x17x64 -> 1x65x64, bicubic"));
  EXPECT_EQ(larger.checkpoint.info.preprocess->image, 32);
  EXPECT_EQ(larger.checkpoint.model->position_table().size(1), 65);
  EXPECT_TRUE(larger.checkpoint.model->position_table().select(1, 0).equal(
      model->position_table().select(1, 0)));
}

TEST_P(VitNames, RefusesShapesThatDoNotFitWithBothShapes) {
  const auto name = GetParam().query;
  tensor(name) = torch::zeros({7, 64});
  EXPECT_TRUE(
      test::contains(message(), fmt::format("'{}' is 7x64, the other weights ask for ", name)));
}

TEST_P(VitNames, NamesWhatIsMissingAndWhatIsUnknown) {
  tensor("something.else") = torch::zeros({1});
  EXPECT_TRUE(
      test::contains(message(), "holds 'something.else', which the model has no place for"));
  std::erase_if(file.tensors, [](const auto& t) { return t.first == "something.else"; });
  const auto name = GetParam().query;
  std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; });
  EXPECT_TRUE(test::contains(message(), fmt::format("lacks '{}'; is the file complete?", name)));
}

TEST_P(VitNames, RefusesSettingsThatTheShapesContradict) {
  EXPECT_TRUE(test::contains(message({"depth=4"}), "depth=4, but the weights of"));
  EXPECT_TRUE(test::contains(message({"positions=none"}), "the model has no weight"));
}

INSTANTIATE_TEST_SUITE_P(Sources, VitNames,
                         testing::Values(Case{"timm_vit", "blocks.1.mlp.fc2.weight", 1e-6},
                                         Case{"hugging_face_vit",
                                              "vit.encoder.layer.1.attention.attention.key.weight",
                                              1e-12}),
                         [](const auto& test) { return test.param.source; });

}  // namespace

TEST(ImportCommand, SaysWhatBecameOfTheTensors) {
  test::TemporaryFolder folder;
  const auto choice = read_model("name: vit_ti16", kSmall, "test");
  const auto model = choice.build();
  const auto in = (folder / "in.safetensors").string(), out = (folder / "out.safetensors").string();
  TensorFile file;
  file.tensors = exported(importers().get("hugging_face_vit").map, named_weights(*model),
                          weight_shapes(*model));
  file.tensors.emplace_back("vit.pooler.dense.weight", torch::zeros({64, 64}));
  save_safetensors(in, file);
  const auto brief = test::run_command({"import", in, "-o", out});
  EXPECT_EQ(brief.code, 0) << brief.err;
  EXPECT_TRUE(
      test::contains(brief.err, "Hugging Face: 57 tensors: 38 loaded, 18 converted, 1 skip"));
  EXPECT_TRUE(test::contains(brief.out, "heads: 1\n"));
  const auto full = test::run_command({"import", in, "-o", out, "--tensors"});
  EXPECT_TRUE(test::contains(full.err, "key.weight"));
  EXPECT_TRUE(test::contains(full.err, "(one of 3 stacked)"));
  EXPECT_TRUE(test::contains(full.err, "(the classifier does not use the pooler)"));
  EXPECT_EQ(load_checkpoint(out).info.classes.size(), 5);
}

}  // namespace vitrine
