// TNT by others' names: small files with those names must give what our own model gives.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

struct TntCase {
  std::string source, matrix, word_positions;  // tensors of theirs
};

class TntFiles : public testing::TestWithParam<TntCase> {
 protected:
  TntFiles() {
    choice = read_model("name: tnt_s",
                        {"image=32", "classes=5", "dim=64", "depth=2", "heads=1", "hidden=96",
                         "inner_dim=8", "inner_hidden=12", "inner_stride=6"},
                        "test");
    torch::manual_seed(3);
    model = choice.build();
    test::shake(*model, 0.1);
    model->eval();
    file.tensors = exported(importers().get(GetParam().source).map, named_weights(*model),
                            weight_shapes(*model));
    if (GetParam().source == "timm_tnt") {
      auto& positions = tensor(GetParam().word_positions);  // a map of 3 x 3 words
      positions = positions.transpose(1, 2).reshape({1, 8, 3, 3}).contiguous();
    }
  }
  torch::Tensor& tensor(const std::string& name) {
    for (auto& [known, value] : file.tensors)
      if (known == name) return value;
    return file.tensors.emplace_back(name, torch::Tensor()).second;
  }
  ImportedModel imported(const std::vector<std::string>& settings = {}) const {
    save_safetensors(folder / "a.safetensors", file);
    return import_weights(folder / "a.safetensors", {.settings = settings});
  }
  std::string message(const std::vector<std::string>& settings = {}) const {
    return test::error_of([&] { imported(settings); });
  }

  test::TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

}  // namespace

TEST_P(TntFiles, RoundTripIsExact) {
  const torch::NoGradGuard no_grad;
  tensor("outer_tokens") = torch::zeros({1, 4, 64});
  const auto back = imported();
  EXPECT_EQ(back.source, GetParam().source);
  EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(choice));
  const auto x = model->example_input(2);
  EXPECT_TRUE(back.checkpoint.model->forward(x).equal(model->forward(x)));
  EXPECT_EQ(back.checkpoint.info.preprocess->mean, std::vector<double>({0.5, 0.5, 0.5}));
  EXPECT_EQ(back.checkpoint.info.preprocess->resize, 35);
  EXPECT_EQ(back.account.count(LoadStatus::Skipped), 1);
  EXPECT_EQ(back.account.count(LoadStatus::Loaded) + back.account.count(LoadStatus::Converted),
            std::ssize(file.tensors) - 1);
}

TEST_P(TntFiles, AnotherImageInterpolatesThePositions) {
  const auto larger = imported({"image=64"});
  EXPECT_EQ(larger.account.count(LoadStatus::Resized), 1);
  EXPECT_EQ(larger.checkpoint.model->image_tokens()->rows, 4);
}

TEST_P(TntFiles, NamesTheTensorThatIsMissingOrDoesNotFit) {
  const auto name = GetParam().matrix;
  tensor(name) = torch::zeros({7, 8});
  EXPECT_TRUE(
      test::contains(message(), fmt::format("'{}' is 7x8, the other weights ask for 16x8", name)));
  std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; });
  EXPECT_TRUE(test::contains(message(), fmt::format("lacks '{}'; is the file complete?", name)));
}

TEST_P(TntFiles, RefusesOtherFormsOfTnt) {
  tensor("blocks.0.proj.bias") = torch::zeros({64});
  EXPECT_TRUE(test::contains(message(), "'blocks.0.proj.bias': it is the first form of TNT"));
  std::erase_if(file.tensors, [&](const auto& t) { return t.first == "blocks.0.proj.bias"; });
  tensor("blocks.1.se_layer.fc.1.weight") = torch::zeros({16, 64});
  EXPECT_TRUE(test::contains(message(), "squeeze-and-excitation is not supported"));
}

TEST_P(TntFiles, MayLackAClassifier) {
  std::erase_if(file.tensors, [&](const auto& t) { return t.first.starts_with("head."); });
  const auto back = imported();
  EXPECT_EQ(back.account.count(LoadStatus::Missing), 2);
  const torch::NoGradGuard no_grad;
  const auto x = model->example_input(2);
  EXPECT_TRUE(back.checkpoint.model->features(x).equal(model->features(x)));
}

INSTANTIATE_TEST_SUITE_P(
    Sources, TntFiles,
    testing::Values(TntCase{"tnt", "blocks.1.inner_attn.qk.weight", "inner_pos"},
                    TntCase{"timm_tnt", "blocks.1.attn_in.qk.weight", "pixel_pos"}),
    [](const auto& test) { return test.param.source; });

}  // namespace vitrine
