// T2T-ViT by the names of its authors: small files must give what our own model gives.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

struct T2tCase {
  std::string source, model, matrix;  // `matrix`: a tensor of 24 rows
};

class T2tFiles : public testing::TestWithParam<T2tCase> {
 protected:
  T2tFiles() {
    choice = read_model(
        "name: " + GetParam().model,
        {"image=32", "classes=5", "token_dim=8", "dim=64", "depth=2", "heads=1", "hidden=96"},
        "test");
    torch::manual_seed(3);
    model = choice.build();
    test::shake(*model, 0.02);
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
    return import_weights(folder / "a.safetensors", {.settings = settings});
  }
  std::string message() const {
    return test::error_of([&] { imported(); });
  }

  test::TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

}  // namespace

TEST_P(T2tFiles, RoundTripIsExact) {
  const torch::NoGradGuard no_grad;
  const auto back = imported();
  EXPECT_EQ(back.source, GetParam().source);
  EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(choice));
  const auto x = model->example_input(2);
  EXPECT_TRUE(back.checkpoint.model->forward(x).equal(model->forward(x)));
  EXPECT_EQ(back.checkpoint.info.preprocess->mean, std::vector<double>({0.485, 0.456, 0.406}));
  EXPECT_EQ(back.checkpoint.info.preprocess->resize, 35);
  EXPECT_EQ(back.account.count(LoadStatus::Loaded) + back.account.count(LoadStatus::Converted),
            std::ssize(file.tensors));
}

TEST_P(T2tFiles, TheStoredPositionsAreTaken) {
  const torch::NoGradGuard no_grad;
  tensor("pos_embed").fill_(0.25);  // as of a file that was fine-tuned at another image size
  EXPECT_TRUE(imported().checkpoint.model->position_table().equal(torch::full({1, 5, 64}, 0.25)));
}

TEST_P(T2tFiles, AnotherImageInterpolatesThePositions) {
  const auto larger = imported({"image=64"});
  EXPECT_EQ(larger.account.count(LoadStatus::Resized), 1);
  EXPECT_EQ(larger.checkpoint.model->position_table().size(1), 17);
}

TEST_P(T2tFiles, NamesTheTensorThatIsMissingOrDoesNotFit) {
  const auto name = GetParam().matrix;
  tensor(name) = torch::zeros({24, 7});
  EXPECT_TRUE(test::contains(message(),
                             fmt::format("'{}' is 24x7, the other weights ask for 24x72", name)));
  std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; });
  EXPECT_TRUE(test::contains(message(), fmt::format("lacks '{}'; is the file complete?", name)));
  tensor("blocks.0.attn.qkv.bias") = torch::zeros({192});
  EXPECT_TRUE(test::contains(message(), "a bias of queries, keys and values is not supported"));
}

INSTANTIATE_TEST_SUITE_P(Sources, T2tFiles,
                         testing::Values(T2tCase{"t2t_vit", "t2t_vit_14",
                                                 "tokens_to_token.attention2.kqv.weight"},
                                         T2tCase{"t2t_vit_t", "t2t_vit_t_14",
                                                 "tokens_to_token.attention2.attn.qkv.weight"}),
                         [](const auto& test) { return test.param.source; });

TEST(T2tNames, TellTheVariant) {
  for (const auto& name : models().names()) {
    if (!name.starts_with("t2t_vit_")) continue;
    const ShapesOnly shapes_only;
    TensorFile file;
    for (const auto& [weight, shape, stacked] : weight_shapes(*ModelChoice(name).build()))
      file.tensors.emplace_back(weight, torch::empty(shape, torch::kMeta));
    const auto& importer =
        importers().get(name.starts_with("t2t_vit_t_") ? "t2t_vit_t" : "t2t_vit");
    ASSERT_TRUE(recognises(importer.map, file)) << name;
    const MappedFile mapped(importer.map, file, "test");
    EXPECT_EQ(importer.describe(mapped).model, name);
  }
}

}  // namespace vitrine
