// CCT by the names of its authors: a small file must give what our own model gives.
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

struct CctFile {
  explicit CctFile(const std::string& name, const std::vector<std::string>& settings) {
    choice = read_model("name: " + name, settings, "test");
    torch::manual_seed(3);
    model = choice.build();
    test::shake(*model, 0.1);
    model->eval();
    file.tensors =
        exported(importers().get("cct").map, named_weights(*model), weight_shapes(*model));
  }
  ImportedModel imported(const std::vector<std::string>& more = {}) const {
    save_safetensors(folder / "a.safetensors", file);
    return import_weights(folder / "a.safetensors", {.settings = more});
  }

  test::TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

}  // namespace

TEST(CctNames, OfTheAuthorsRoundTrip) {
  const torch::NoGradGuard no_grad;
  for (const CctFile& cct :
       {CctFile("cct_4_3x2", {"stem_channels=16", "dim=64", "depth=3", "heads=1", "hidden=48"}),
        CctFile("cct_14_7x2", {"image=64", "classes=5", "stem_channels=8", "depth=1"}),
        CctFile("cct_6_3x1", {"classes=100", "dim=192", "depth=2", "heads=3"})}) {
    const auto back = cct.imported();
    EXPECT_EQ(back.source, "cct");
    EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(cct.choice));
    const auto x = cct.model->example_input(2);
    EXPECT_TRUE(back.checkpoint.model->forward(x).equal(cct.model->forward(x)));
    EXPECT_EQ(back.account.count(LoadStatus::Loaded) + back.account.count(LoadStatus::Converted),
              std::ssize(cct.file.tensors));
    const auto classes = back.checkpoint.info.classes.size();
    EXPECT_EQ(back.checkpoint.info.preprocess->mean[0], classes == 10    ? 0.4914
                                                        : classes == 100 ? 0.5071
                                                                         : 0.485);
  }
}

TEST(CctNames, AnotherImageInterpolatesThePositions) {
  const CctFile cct("cct_4_3x2", {"dim=64", "heads=1"});
  const auto larger = cct.imported({"image=64"});
  EXPECT_EQ(larger.account.count(LoadStatus::Resized), 1);
  EXPECT_EQ(larger.checkpoint.model->image_tokens()->rows, 16);
}

TEST(CctNames, NameTheTensorThatIsMissingOrDoesNotFit) {
  CctFile cct("cct_4_3x2", {"dim=64", "heads=1"});
  const std::string name = "classifier.blocks.1.self_attn.qkv.weight";
  for (auto& [known, tensor] : cct.file.tensors)
    if (known == name) tensor = torch::zeros({7, 64});
  const auto message = [&] { return test::error_of([&] { cct.imported(); }); };
  EXPECT_TRUE(test::contains(message(),
                             fmt::format("'{}' is 7x64, the other weights ask for 192x64", name)));
  std::erase_if(cct.file.tensors, [&](const auto& t) { return t.first == name; });
  EXPECT_TRUE(test::contains(message(), fmt::format("lacks '{}'; is the file complete?", name)));
}

}  // namespace vitrine
