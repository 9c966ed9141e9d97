// Folders of timm and Hugging Face, in and out.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/formats/npz.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/exporters.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

using nlohmann::json;

const Preprocess kCrop{.image = 16,
                       .resize = 19,
                       .interpolation = Interpolation::Bicubic,
                       .mean = {0.1, 0.2, 0.3},
                       .std = {0.4, 0.5, 0.6}};
const Preprocess kStretch{.image = 16, .resize = 16, .stretch = true};

/// A run's checkpoint, and a folder to export it to.
class HubFolder : public testing::Test {
 protected:
  /// Saves a small ViT with these settings.
  void save(const std::vector<std::string>& more = {}, const Preprocess& how = kCrop,
            const std::string& name = "vit_ti16") {
    std::vector<std::string> settings;
    if (name == "vit_ti16")
      settings = {"image=16", "patch=4", "classes=3", "dim=48", "depth=2", "heads=4", "hidden=80"};
    settings.insert(settings.end(), more.begin(), more.end());
    const auto choice = read_model("name: " + name, settings, "test");
    torch::manual_seed(5);
    const auto model = choice.build();
    const torch::NoGradGuard no_grad;
    for (auto& weight : model->parameters()) weight.add_(0.1 * torch::randn(weight.sizes()));
    save_checkpoint(own_, *model,
                    {.model = choice, .preprocess = how, .classes = {"cat", "dog", "a bird"}});
  }
  test::Outcome run_export(const std::string& names, const fs::path& out,
                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"export", own_, "--names", names, "-o", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_command(arguments);
  }
  std::string refusal(const std::string& names) {
    const auto outcome = run_export(names, folder_ / "refused.npz");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_FALSE(fs::exists(folder_ / "refused.npz"));
    return outcome.err;
  }
  /// Whether every weight has the bits of the checkpoint's.
  bool has_same_weights(const LoadedCheckpoint& other) const {
    const auto own = load_checkpoint(own_);
    const auto ours = named_weights(*own.model), theirs = named_weights(*other.model);
    bool same = ours.size() == theirs.size();
    for (size_t i = 0; same && i < ours.size(); ++i)
      same = ours[i].first == theirs[i].first && ours[i].second.equal(theirs[i].second);
    return same;
  }
  void expect_same(const LoadedCheckpoint& other) const {
    const auto own = load_checkpoint(own_);
    EXPECT_TRUE(has_same_weights(other));
    EXPECT_EQ(to_yaml(own.info.model), to_yaml(other.info.model));
    EXPECT_EQ(to_yaml(*own.info.preprocess), to_yaml(*other.info.preprocess));
    EXPECT_EQ(own.info.classes, other.info.classes);
  }
  /// Changes a JSON file of the exported folder.
  template <typename Change>
  void change(const std::string& file, Change&& change) {
    auto root = json::parse(read_file(out_ / file));
    change(root);
    write_file_atomically(out_ / file, root.dump());
  }
  std::string message() {
    return test::error_of([&] { import_weights(out_); });
  }

  test::TemporaryFolder folder_;
  const fs::path own_ = folder_ / "own.safetensors", out_ = folder_ / "out";
};

TEST_F(HubFolder, OfTimmComesBackWhole) {
  for (const auto& how : {kCrop, kStretch})
    for (const auto& more :
         std::vector<std::vector<std::string>>{{},
                                               {"activation=gelu_tanh"},
                                               {"pool=mean"},
                                               {"layer_scale=0.001", "class_position=false"}}) {
      save(more, how);
      const auto outcome = run_export("timm", out_);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.err, "");
      expect_same(load_checkpoint(out_));
    }
  EXPECT_EQ(json::parse(read_file(out_ / "config.json"))["pretrained_cfg"]["crop_mode"], "squash");
}

TEST_F(HubFolder, InBf16HasHalfTheBytesAndIsReadBack) {
  save({"dim=96", "hidden=400"});
  ASSERT_EQ(run_export("timm", folder_ / "full").code, 0);
  ASSERT_EQ(run_export("timm", out_, {"--precision", "bf16"}).code, 0);
  const auto bytes = [](const fs::path& folder) {
    return static_cast<double>(fs::file_size(folder / "model.safetensors"));
  };
  EXPECT_LT(bytes(out_), 0.6 * bytes(folder_ / "full"));
  const auto own = load_checkpoint(own_), back = load_checkpoint(out_);
  const auto x = own.model->example_input(2);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::allclose(back.model->forward(x), own.model->forward(x), 0.05, 0.05));
}

TEST_F(HubFolder, InAPrecisionThatTheFormatLacksIsMisuse) {
  save();
  const auto int8 = run_export("timm", folder_ / "m.safetensors", {"--precision", "int8"});
  EXPECT_EQ(int8.code, 2);
  EXPECT_TRUE(test::contains(int8.err, "take fp32 or bf16, or --format onnx")) << int8.err;
  EXPECT_EQ(run_export("timm", folder_ / "m.npz", {"--precision", "bf16"}).code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "m.safetensors"));
}

TEST_F(HubFolder, OfTimmHoldsAResNet) {
  auto how = kCrop;
  how.image = 32;
  how.resize = 36;
  save({"image=32", "classes=3"}, how, "resnet18");
  const auto outcome = run_export("timm", out_);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_same(load_checkpoint(out_));
  const auto config = json::parse(read_file(out_ / "config.json"));
  EXPECT_EQ(config["architecture"], "resnet18");
  EXPECT_EQ(config["num_features"], 512);
  for (const auto* file : {"a.safetensors", "a.npz"}) {
    ASSERT_EQ(run_export("torchvision", folder_ / file).code, 0) << file;
    EXPECT_TRUE(has_same_weights(import_weights(folder_ / file).checkpoint)) << file;
  }
}

TEST_F(HubFolder, AResNetThatTheyDoNotHaveIsRefused) {
  save({"stem=cifar", "classes=3"}, kCrop, "resnet18");
  EXPECT_TRUE(
      test::contains(refusal("torchvision"), "has stem imagenet, but this model has cifar"));
  save({"blocks=[1, 1, 1, 1]", "classes=3"}, kCrop, "resnet18");
  EXPECT_TRUE(test::contains(refusal("timm"), "so it cannot become a resnet18"));
  EXPECT_TRUE(test::contains(refusal("google"), "so it cannot become a ViT of Google"));
}

/// Settings of a small hybrid, besides those of its backbone.
std::vector<std::string> small_hybrid(const std::vector<std::string>& more) {
  std::vector<std::string> settings = {"image=32", "classes=3", "dim=192",
                                       "depth=1",  "heads=3",   "hidden=96"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

TEST_F(HubFolder, OfTimmHoldsAHybrid) {
  auto how = kCrop;
  how.image = 32;
  how.resize = 36;
  const std::vector<std::pair<std::string, std::string>> backbones = {
      {"backbone.blocks=[3, 4, 9]", "vit_base_r50_s16_224"},
      {"backbone.blocks=[]", "vit_tiny_r_s16_p8_224"}};
  for (const auto& [blocks, architecture] : backbones) {
    save(small_hybrid(
             {"patch=2", "backbone.standardize=variance", "backbone.norm_eps=1e-05", blocks}),
         how, "r_vit_ti16");
    const auto outcome = run_export("timm", out_);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    expect_same(load_checkpoint(out_));
    EXPECT_EQ(json::parse(read_file(out_ / "config.json"))["architecture"], architecture);
  }
}

TEST_F(HubFolder, AHybridOfAnotherBackboneIsAFileWithoutConfig) {
  save(small_hybrid({"patch=2", "backbone.width=32", "backbone.blocks=[1, 2]"}), kCrop,
       "r_vit_ti16");
  const auto outcome = run_export("timm", folder_ / "a.safetensors");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.err, "with backbone.standardize=variance, this model with "));
  EXPECT_TRUE(test::contains(outcome.err, "timm has no hybrid with backbone.blocks=[1, 2] and "));
  EXPECT_TRUE(has_same_weights(import_weights(folder_ / "a.safetensors").checkpoint));
  EXPECT_EQ(run_export("timm", out_).code, 2);
}

TEST_F(HubFolder, AHybridOfGoogleComesBackToTheBit) {
  save(small_hybrid(
           {"patch=2", "activation=gelu_tanh", "backbone.width=32", "backbone.blocks=[1, 2]"}),
       kCrop, "r_vit_ti16");
  const auto path = folder_ / "a.npz";
  const auto outcome = run_export("google", path);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("differ"), std::string::npos) << outcome.err;
  EXPECT_EQ(load_npz(path).find("gn_root/scale")->sizes(), torch::IntArrayRef({1, 1, 1, 32}));
  const auto back = import_weights(path);
  EXPECT_EQ(back.source, "google_hybrid");
  EXPECT_TRUE(has_same_weights(back.checkpoint));
}

TEST_F(HubFolder, OfHuggingFaceComesBackWhole) {
  for (const auto& how : {kCrop, kStretch}) {
    save({"norm_eps=1e-07", "activation=quick_gelu"}, how);
    const auto outcome = run_export("hf", out_);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    expect_same(load_checkpoint(out_));
  }
}

TEST_F(HubFolder, OfBothHoldsADistilledDeit) {
  const std::vector<std::string> small = {"image=16", "patch=4", "classes=3", "dim=48",
                                          "depth=2",  "heads=4", "hidden=80"};
  for (const auto* names : {"timm", "hf"}) {
    save(small, kCrop, "deit_ti16_distilled");
    fs::remove_all(out_);
    const auto outcome = run_export(names, out_);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    expect_same(load_checkpoint(out_));
  }
  EXPECT_EQ(json::parse(read_file(out_ / "config.json"))["model_type"], "deit");
  EXPECT_TRUE(test::contains(refusal("google"), "'dist_token' has no name in a ViT of Google"));
}

TEST_F(HubFolder, FilesOfEverySourceComeBackToTheBit) {
  save({"activation=gelu"});
  const std::vector<std::pair<std::string, std::string>> files = {{"timm", "a.safetensors"},
                                                                  {"hf", "b.npz"},
                                                                  {"torchvision", "c.safetensors"},
                                                                  {"google", "d.npz"}};
  for (const auto& [names, file] : files) {
    const auto outcome = run_export(names, folder_ / file);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has_same_weights(import_weights(folder_ / file).checkpoint)) << names;
  }
}

TEST_F(HubFolder, WhatTheOtherCannotBeIsRefusedOrSaid) {
  save({"activation=relu"});
  EXPECT_TRUE(
      test::contains(refusal("torchvision"), "has activation gelu, but this model has relu"));
  save({"norm=post"});
  EXPECT_TRUE(test::contains(refusal("timm"), "has norm pre, but this model has post"));
  save({"attention.kind=performer"});
  EXPECT_TRUE(test::contains(refusal("hf"), "has attention.kind softmax"));
  save({"pool=mean"});
  EXPECT_TRUE(test::contains(refusal("google"), "has pool token, but this model has mean"));
  save({"layer_scale=1"});
  EXPECT_TRUE(
      test::contains(refusal("hf"), "'blocks.0.ls1.gamma' has no name in a ViT of Hugging"));
  save({}, kCrop, "cct_2_3x2");
  EXPECT_TRUE(test::contains(refusal("timm"), "so it cannot become a ViT with the names of timm"));
  save({"norm_eps=1e-12"});
  EXPECT_TRUE(test::contains(run_export("timm", out_).err,
                             "with norm_eps=1e-06, this model with norm_eps=1e-12"));
  EXPECT_TRUE(test::contains(run_export("google", folder_ / "g.npz").err,
                             "with activation=gelu_tanh, this model with activation=gelu"));
  EXPECT_EQ(run_export("google", folder_ / "google").code, 2);
  EXPECT_EQ(run_export("tim", out_).code, 2);
  EXPECT_EQ(run_export("timm", out_, {"--format", "zip"}).code, 2);
}

TEST_F(HubFolder, ConfigThatContradictsTheShapesIsRefusedWithBoth) {
  save();
  run_export("hf", out_);
  change("config.json", [](json& root) { root["hidden_size"] = 64; });
  EXPECT_TRUE(test::contains(message(),
                             "config.json says hidden_size 64, but the shapes of the "
                             "weights say dim=48"));
  run_export("timm", out_);
  change("config.json", [](json& root) { root["model_args"].erase("embed_dim"); });
  EXPECT_TRUE(test::contains(message(), "says architecture vit_tiny_patch16_224, dim 192, but"));
  run_export("timm", out_);
  change("config.json", [](json& root) { root["label_names"] = {"cat", "dog"}; });
  EXPECT_TRUE(test::contains(message(), "names 2 classes, but the weights are for 3"));
  run_export("timm", out_);
  change("config.json", [](json& root) { root["model_args"]["img_size"] = 32; });
  EXPECT_TRUE(test::contains(message(),
                             "model_args.img_size 32, but the shapes of the weights say "
                             "image=16"));
}

TEST_F(HubFolder, ConfigThatCannotBeHonouredIsRefused) {
  save();
  const auto message_with = [&](const std::string& names, const std::string& file, auto change_it) {
    fs::remove_all(out_);
    run_export(names, out_);
    change(file, change_it);
    return message();
  };
  EXPECT_TRUE(test::contains(
      message_with("timm", "config.json", [](json& r) { r["model_args"]["scale_mlp"] = true; }),
      "model_args.scale_mlp true is not known"));
  EXPECT_TRUE(
      test::contains(message_with("timm", "config.json", [](json& r) { r["global_pool"] = "avg"; }),
                     "global_pool 'avg' is not supported for a model with a class token"));
  EXPECT_TRUE(test::contains(
      message_with("timm", "config.json",
                   [](json& r) { r["pretrained_cfg"]["interpolation"] = "lanczos"; }),
      "interpolation 'lanczos' is not supported"));
  EXPECT_TRUE(
      test::contains(message_with("hf", "config.json", [](json& r) { r["model_type"] = "beit"; }),
                     "model_type 'beit' is not supported"));
  EXPECT_TRUE(test::contains(
      message_with("hf", "config.json", [](json& r) { r["num_attention_heads"] = "many"; }),
      "num_attention_heads \"many\" is not a number"));
  EXPECT_TRUE(test::contains(
      message_with("hf", "preprocessor_config.json", [](json& r) { r["image_mean"] = "grey"; }),
      "preprocessor_config.json cannot be read"));
  write_file_atomically(out_ / "config.json", "{");
  EXPECT_TRUE(test::contains(message(), "config.json cannot be read"));
}

TEST_F(HubFolder, AnotherImageSizeKeepsTheCrop) {
  save();
  run_export("timm", out_);
  const auto larger = import_weights(out_, {.settings = {"image=32"}}).checkpoint.info;
  EXPECT_EQ(larger.preprocess->image, 32);
  EXPECT_EQ(larger.preprocess->resize, 38);
  EXPECT_EQ(larger.preprocess->mean, kCrop.mean);
}

TEST_F(HubFolder, ShardsAreReadThroughTheirIndex) {
  save();
  run_export("hf", out_);
  const auto whole = load_safetensors(out_ / "model.safetensors");
  fs::remove(out_ / "model.safetensors");
  TensorFile parts[2];
  json map = json::object();
  for (size_t i = 0; i < whole.tensors.size(); ++i) {
    parts[i % 2].tensors.push_back(whole.tensors[i]);
    map[whole.tensors[i].first] = fmt::format("part-{}.safetensors", i % 2);
  }
  for (int i = 0; i < 2; ++i)
    save_safetensors(out_ / fmt::format("part-{}.safetensors", i), parts[i]);
  const auto write_index = [&] {
    write_file_atomically(out_ / "model.safetensors.index.json", json{{"weight_map", map}}.dump());
  };
  write_index();
  expect_same(load_checkpoint(out_));
  map["more"] = "part-1.safetensors";
  write_index();
  EXPECT_TRUE(test::contains(message(), "names 'more', which is in none of its files"));
  map["more"] = "../part-1.safetensors";
  write_index();
  EXPECT_TRUE(test::contains(message(), "which is not the name of a file beside it"));
}

TEST_F(HubFolder, WithoutWeightsIsNotARunEither) {
  make_folder(out_);
  EXPECT_TRUE(
      test::contains(test::error_of([&] { load_checkpoint(out_); }), "is it a run folder?"));
  save();
  run_export("timm", out_);
  run_export("timm", out_ / "second.safetensors");
  fs::rename(out_ / "model.safetensors", out_ / "first.safetensors");
  EXPECT_TRUE(test::contains(message(), "holds 2 files of weights (first.safetensors, second."));
}

TEST_F(HubFolder, WithAConfigOfManyBracketsIsRefused) {
  save();
  ASSERT_EQ(run_export("timm", out_).code, 0);
  change("config.json", [](json& root) { root["model_args"]["init_values"] = "DEEP"; });
  auto text = read_file(out_ / "config.json");
  const std::string mark = "\"DEEP\"";
  text.replace(text.find(mark), mark.size(), std::string(100000, '[') + std::string(100000, ']'));
  write_file_atomically(out_ / "config.json", text);
  EXPECT_TRUE(test::contains(message(), "nested deeper than 64 levels"));
}

}  // namespace
}  // namespace vitrine
