// Swin by others' names: small files with those names must give what our own model gives.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

struct SwinCase {
  std::string source;
  std::string tensor, merging;  // a matrix of theirs, a tensor between stages
  bool second = false;
  int64_t resize = 0;  // of images of 32 pixels
};

/// A small Swin, and a file with its weights and a source's names.
struct SmallSwin {
  SmallSwin(const std::string& source, bool second, const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings = {"image=32", "patch=2",          "classes=5",
                                         "dim=12",   "depths=[2, 1, 1]", "heads=[2, 3, 4]",
                                         "window=4", "mlp_ratio=2"};
    settings.insert(settings.end(), more.begin(), more.end());
    choice = read_model(second ? "name: swin_v2_t" : "name: swin_t", settings, "test");
    torch::manual_seed(3);
    model = choice.build();
    test::shake(*model, 0.1);
    model->eval();
    file.tensors =
        exported(importers().get(source).map, named_weights(*model), weight_shapes(*model));
  }
  torch::Tensor& tensor(const std::string& name) {
    for (auto& [known, value] : file.tensors)
      if (known == name) return value;
    return file.tensors.emplace_back(name, torch::Tensor()).second;
  }
  void erase(const std::string& part) {
    std::erase_if(file.tensors, [&](const auto& t) { return t.first.find(part) != t.first.npos; });
  }
  ImportedModel imported(const ImportOptions& options = {},
                         const std::string& name = "a.safetensors") const {
    save_safetensors(folder / name, file);
    return import_weights(folder / name, options);
  }
  bool gives_the_same(const ImportedModel& other) const {
    const torch::NoGradGuard no_grad;
    const auto x = model->example_input(2);
    return other.checkpoint.model->forward(x).equal(model->forward(x));
  }
  std::string message(const ImportOptions& options = {}) const {
    return test::error_of([&] { imported(options); });
  }

  test::TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

/// What nothing in a file of the second version tells.
ImportOptions sizes_for(bool second) {
  return {.settings = second ? std::vector<std::string>{"image=32", "window=4"}
                             : std::vector<std::string>{}};
}

class SwinNames : public testing::TestWithParam<SwinCase>, protected SmallSwin {
 protected:
  SwinNames() : SmallSwin(GetParam().source, GetParam().second) {}
  const ImportOptions options_ = sizes_for(GetParam().second);
};

}  // namespace

TEST_P(SwinNames, RoundTripIsExact) {
  const auto back = imported(options_);
  EXPECT_EQ(back.source, GetParam().source);
  EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(choice));
  EXPECT_TRUE(gives_the_same(back));
  EXPECT_EQ(back.account.count(LoadStatus::Loaded) + back.account.count(LoadStatus::Converted),
            std::ssize(file.tensors));
}

TEST_P(SwinNames, PreprocessComesAlong) {
  const auto how = imported(options_).checkpoint.info.preprocess.value();
  EXPECT_EQ(how.image, 32);
  EXPECT_EQ(how.resize, GetParam().resize);
  EXPECT_EQ(how.mean.at(0), 0.485);
  EXPECT_EQ(how.interpolation, Interpolation::Bicubic);
}

TEST_P(SwinNames, NamesWhatIsMissing) {
  const auto name = GetParam().tensor;
  std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; });
  EXPECT_TRUE(test::contains(message(options_), fmt::format("lacks '{}'; is the", name)));
}

TEST_P(SwinNames, MissesTheMergingBetweenTwoStages) {
  const auto before = file.tensors.size();
  erase(GetParam().merging);
  ASSERT_EQ(file.tensors.size() + 1, before);
  EXPECT_TRUE(test::contains(message(options_), "lacks 'norm.bias' between stages 2 and 3"));
}

TEST_P(SwinNames, RefusesATensorOfAnotherShape) {
  tensor(GetParam().tensor) = torch::zeros({3, 7});
  EXPECT_TRUE(
      test::contains(message(options_),
                     fmt::format("'{}' is 3x7, the other weights ask for ", GetParam().tensor)));
}

INSTANTIATE_TEST_SUITE_P(
    Sources, SwinNames,
    testing::Values(SwinCase{.source = "microsoft_swin",
                             .tensor = "layers.0.blocks.1.attn.qkv.weight",
                             .merging = "layers.1.downsample.norm.bias",
                             .resize = 36},
                    SwinCase{.source = "timm_swin",
                             .tensor = "layers.0.blocks.1.attn.qkv.weight",
                             .merging = "layers.2.downsample.norm.bias",
                             .resize = 35},
                    SwinCase{.source = "torchvision_swin",
                             .tensor = "features.1.1.mlp.3.weight",
                             .merging = "features.4.norm.bias",
                             .resize = 33},
                    SwinCase{.source = "hugging_face_swin",
                             .tensor = "swin.encoder.layers.0.blocks.1.attention.self.key.weight",
                             .merging = "swin.encoder.layers.1.downsample.norm.bias",
                             .resize = 32},
                    SwinCase{.source = "microsoft_swin_v2",
                             .tensor = "layers.0.blocks.1.attn.cpb_mlp.2.weight",
                             .merging = "layers.1.downsample.norm.bias",
                             .second = true,
                             .resize = 36},
                    SwinCase{.source = "timm_swin_v2",
                             .tensor = "layers.2.blocks.0.attn.qkv.weight",
                             .merging = "layers.2.downsample.norm.bias",
                             .second = true,
                             .resize = 35},
                    SwinCase{.source = "torchvision_swin_v2",
                             .tensor = "features.5.0.attn.proj.weight",
                             .merging = "features.4.norm.bias",
                             .second = true,
                             .resize = 32},
                    SwinCase{
                        .source = "hugging_face_swin_v2",
                        .tensor = "swinv2.encoder.layers.2.blocks.0.attention.self.query.weight",
                        .merging = "swinv2.encoder.layers.1.downsample.norm.bias",
                        .second = true,
                        .resize = 32}),
    [](const auto& test) { return test.param.source; });

TEST(SwinSources, MicrosoftsBuffersAreLeftOutAndTellTheWindows) {
  SmallSwin first("microsoft_swin", /*second=*/false);
  first.tensor("layers.0.blocks.0.attn.relative_position_index") = torch::zeros({16, 16});
  first.tensor("layers.0.blocks.1.attn_mask") = torch::zeros({16, 16, 16});
  const auto back = first.imported();
  EXPECT_TRUE(first.gives_the_same(back));
  EXPECT_EQ(back.account.count(LoadStatus::Skipped), 2);
  EXPECT_TRUE(
      test::contains(first.message({.settings = {"window=2"}}), "window=2, but the weight"));

  SmallSwin second("microsoft_swin_v2", /*second=*/true, {"window=8"});  // the last grid is 4 x 4
  second.tensor("layers.0.blocks.0.attn.relative_coords_table") = torch::zeros({1, 15, 15, 2});
  second.tensor("layers.2.blocks.0.attn.relative_coords_table") = torch::zeros({1, 7, 7, 2});
  EXPECT_TRUE(second.gives_the_same(second.imported()));
}

TEST(SwinSources, TheNameOfAFileTellsTheWindows) {
  const SmallSwin swin("timm_swin_v2", /*second=*/true,
                       {"image=64", "patch=4", "window=8", "depths=[1, 1, 1, 1]",
                        "heads=[2, 2, 2, 2]", "pretrained_windows=[6, 6, 3, 1]"});
  EXPECT_TRUE(swin.gives_the_same(
      swin.imported({}, "swinv2_base_patch4_window6to8_48to64_22kto1k_ft.safetensors")));
  EXPECT_EQ(
      swin.imported({}, "swinv2_window8_64.safetensors").checkpoint.model->image_shape()->image,
      64);
}

TEST(SwinSources, TorchvisionsBiasOfKeysIsLeftOut) {
  SmallSwin swin("torchvision_swin_v2", /*second=*/true);
  NamedTensors whole;
  int64_t joined = 0;
  for (const auto& [name, value] : swin.file.tensors) {
    const std::string of_queries = ".q";
    if (name.ends_with("qkv.bias.v")) continue;
    if (!name.ends_with("qkv.bias" + of_queries)) {
      whole.emplace_back(name, value);
      continue;
    }
    const auto bias = name.substr(0, name.size() - of_queries.size());
    const auto values = *swin.file.find(bias + ".v");
    whole.emplace_back(bias, torch::cat({value, torch::full_like(value, 7), values}));
    ++joined;
  }
  EXPECT_EQ(joined, 4);
  swin.file.tensors = whole;
  const auto back = swin.imported(sizes_for(true));
  EXPECT_TRUE(swin.gives_the_same(back));
  EXPECT_EQ(back.account.count(LoadStatus::Skipped), 4);
}

TEST(SwinSources, HuggingFaceWithoutItsClassifier) {
  SmallSwin swin("hugging_face_swin", /*second=*/false);
  swin.erase("classifier");
  const std::string prefix = "swin.";
  for (auto& [name, value] : swin.file.tensors) name = name.substr(prefix.size());
  const auto back = swin.imported();
  EXPECT_EQ(back.account.count(LoadStatus::Missing), 2);
  const torch::NoGradGuard no_grad;
  const auto x = swin.model->example_input(2);
  EXPECT_TRUE(back.checkpoint.model->features(x).equal(swin.model->features(x)));
  swin.tensor("embeddings.position_embeddings") = torch::zeros({1, 256, 12});
  EXPECT_TRUE(test::contains(swin.message(), "positions that are added to the patches"));
}

TEST(SwinSources, FoldersAreReadWithTheirConfig) {
  const auto import_folder = [](const SmallSwin& swin, const nlohmann::json& config) {
    const auto out = swin.folder / "folder";
    make_folder(out);
    save_safetensors(out / "model.safetensors", swin.file);
    write_file_atomically(out / "config.json", config.dump());
    return import_weights(out);
  };
  const SmallSwin first("hugging_face_swin", /*second=*/false);
  const nlohmann::json config = {{"model_type", "swin"}, {"embed_dim", 12}, {"window_size", 4},
                                 {"image_size", 32},     {"patch_size", 2}, {"qkv_bias", true}};
  EXPECT_TRUE(first.gives_the_same(import_folder(first, config)));
  auto wrong = config;
  wrong["window_size"] = 7;
  EXPECT_TRUE(test::contains(test::error_of([&] { import_folder(first, wrong); }),
                             "config.json says window_size 7, but the shapes of the weights say "
                             "window=4"));
  const SmallSwin second("hugging_face_swin_v2", /*second=*/true, {"pretrained_windows=[3, 3, 2]"});
  auto tuned = config;
  tuned["model_type"] = "swinv2";
  tuned["pretrained_window_sizes"] = {3, 3, 2};
  EXPECT_TRUE(second.gives_the_same(import_folder(second, tuned)));
  const SmallSwin timm(
      "timm_swin_v2", /*second=*/true,
      {"image=64", "patch=4", "window=4", "depths=[1, 1, 1, 1]", "heads=[2, 2, 2, 2]"});
  EXPECT_TRUE(timm.gives_the_same(
      import_folder(timm, {{"architecture", "swinv2_tiny_window4_64"}, {"num_classes", 5}})));
}

}  // namespace vitrine
