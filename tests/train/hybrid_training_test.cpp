// Hybrids on a pre-trained backbone: what fills it, that it stays, and its feature maps on disk.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/training.h"
#include "vitrine/train/feature_cache.h"
#include "vitrine/train/run.h"
#include "vitrine/weights/load.h"

namespace vitrine {
namespace {

/// The first two of the three stages of the weights.
constexpr const char* kHybridRecipe = R"(name: hybrid
model: {name: vit_c10_small, image: 16, patch: 1, dim: 32, depth: 1, heads: 2, hidden: 64,
        classes: 4, dropout: 0.1, backbone: {blocks: [1, 1]}}
data:
  dataset: {name: synthetic, train: 40, test: 16, image: 16, classes: 4}
  batch: 8
  validation: 0.2
  augment: {flip: 0.5}
train: {epochs: 2, freeze: model.backbone, optimizer: {lr: 1e-2, weight_decay: 0.5}}
)";

constexpr const char* kPrefix = "patch_embed.backbone.";

class HybridTraining : public testing::Test {
 protected:
  HybridTraining() {
    write_file_atomically(recipe_, kHybridRecipe);
    test::save_small_checkpoint(
        resnet_, "resnet18",
        {"model.block=bottleneck", "model.blocks=[1, 1, 1]", "model.stem=cifar",
         "model.stride_first=true", "model.conv_bias=true", "model.norm_eps=0.001",
         "data.preprocess.mean=[0.1, 0.2, 0.3]", "data.preprocess.std=[0.4, 0.5, 0.6]"});
    auto file = load_safetensors(resnet_);  // statistics of its own, as of a trained network
    for (auto& [name, weight] : file.tensors)
      if (name.ends_with("running_var")) weight = weight + torch::rand_like(weight);
    save_safetensors(resnet_, file);
  }

  Recipe recipe(std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(), "init_backbone=" + resnet_.string());
    return read_recipe(recipe_.string(), overrides);
  }

  RunOutcome run(const std::string& name, const std::vector<std::string>& overrides) {
    messages_.clear();
    return run_recipe(recipe(overrides),
                      {.threads = 2,
                       .folder = folder_ / name,
                       .cache = folder_ / "cache",
                       .show_progress = false,
                       .write_reports = false,
                       .on_message = [&](const std::string& text) { messages_ += text + "\n"; }});
  }

  fs::path last(const std::string& run) const {
    return folder_ / run / "checkpoints/last.safetensors";
  }

  std::string refusal(const std::vector<std::string>& overrides) const {
    return test::error_of([&] { recipe(overrides); });
  }

  test::TemporaryFolder folder_;
  fs::path recipe_ = folder_ / "hybrid.yaml", resnet_ = folder_ / "resnet.safetensors";
  std::string messages_;
};

}  // namespace

TEST_F(HybridTraining, TheBackboneAndTheNormalisationAreThoseOfTheWeights) {
  const auto hybrid = recipe({});
  const auto model = to_yaml(hybrid.model);
  for (const auto* setting : {"kind: resnet", "block: bottleneck", "blocks: [1, 1]", "stem: cifar",
                              "stride_first: true", "conv_bias: true", "batch_norm_eps: 0.001"})
    EXPECT_TRUE(test::contains(model, setting));
  EXPECT_EQ(hybrid.data.preprocess.mean, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(hybrid.data.preprocess.std, (std::vector<double>{0.4, 0.5, 0.6}));
  EXPECT_EQ(hybrid.data.preprocess.image, 16);
}

TEST_F(HybridTraining, AFrozenBackboneKeepsWeightsAndStatisticsWhileTheRestLearns) {
  run("run", {});
  EXPECT_TRUE(test::contains(messages_, "init_backbone " + resnet_.string() + " (resnet18): "));
  EXPECT_TRUE(test::contains(messages_, "which the backbone does not have (fc, layer3)"));
  const auto before = load_safetensors(resnet_), after = load_safetensors(last("run"));
  int64_t kept = 0;
  for (const auto& [name, weight] : after.tensors)
    if (name.starts_with(kPrefix)) {
      const auto* theirs = before.find(name.substr(std::string(kPrefix).size()));
      ASSERT_NE(theirs, nullptr) << name;
      EXPECT_TRUE(theirs->equal(weight)) << name;
      ++kept;
    }
  EXPECT_TRUE(test::contains(messages_, fmt::format("{} tensors loaded", kept)));
  EXPECT_GT(after.find("head.bias")->abs().max().item<double>(), 0);
}

TEST_F(HybridTraining, AnUnfrozenBackboneLearns) {
  run("run", {"train.freeze=none", "train.epochs=1"});
  const auto before = load_safetensors(resnet_), after = load_safetensors(last("run"));
  EXPECT_FALSE(
      before.find("conv1.weight")->equal(*after.find(kPrefix + std::string("conv1.weight"))));
  EXPECT_FALSE(before.find("bn1.running_mean")
                   ->equal(*after.find(kPrefix + std::string("bn1.running_mean"))));
}

TEST_F(HybridTraining, CachedMapsGiveTheSameBitsAsTheBackbone) {
  const auto plain = run("plain", {});
  const auto cached = run("cached", {"train.cache_backbone=fp32"});
  EXPECT_TRUE(test::contains(messages_, "feature maps of 32 images (train): computed in"));
  EXPECT_TRUE(test::contains(messages_, "feature maps of 32 images (train, mirrored): computed"));
  EXPECT_TRUE(test::contains(messages_, "feature maps of 16 images (test): computed in"));
  EXPECT_TRUE(test::same_tensors(last("plain"), last("cached")));
  EXPECT_EQ(plain.test, cached.test);
  // Half precision rounds the maps by 2^-11 at most.
  const auto half = run("half", {"train.cache_backbone=fp16"});
  EXPECT_TRUE(test::contains(messages_, "(train): computed in"));
  EXPECT_FALSE(test::same_tensors(last("plain"), last("half")));
  EXPECT_NEAR(half.test_loss(), plain.test_loss(), 0.02 * plain.test_loss());
}

TEST_F(HybridTraining, MapsAreComputedOnceForEveryViTThatReadsThem) {
  run("one", {"train.cache_backbone=fp16"});
  run("two", {"train.cache_backbone=fp16", "model.depth=2", "train.epochs=1"});
  EXPECT_TRUE(test::contains(messages_, "(train, mirrored): from the cache"));
  EXPECT_TRUE(test::contains(messages_, "(test): from the cache"));
  run("three", {"train.cache_backbone=fp16", "data.preprocess.mean=[0, 0, 0]", "train.epochs=1"});
  EXPECT_TRUE(test::contains(messages_, "note: data.preprocess.mean is [0, 0, 0]"));
  EXPECT_TRUE(test::contains(messages_, "(train): computed in"));
  run("four", {"train.cache_backbone=fp16", "model.backbone.blocks=[1]", "train.epochs=1"});
  EXPECT_TRUE(test::contains(messages_, "(train): computed in"));
}

TEST_F(HybridTraining, TheCheckpointOfACachedRunIsAWholeHybrid) {
  const auto outcome = run("run", {"train.cache_backbone=fp32", "train.ema=0.5"});
  const auto scored = test::run_command({"eval", (folder_ / "run").string(), "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  const auto found = nlohmann::json::parse(scored.out);
  EXPECT_NEAR(found.at("loss").get<double>(), outcome.test_loss(), 1e-5);
}

TEST_F(HybridTraining, AResumedRunFindsItsMapsWithoutTheWeights) {
  run("run", {"train.cache_backbone=fp16", "train.epochs=1"});
  fs::remove(resnet_);
  const auto stored = folder_ / "run/recipe.yaml";
  auto text = read_file(stored);
  text.replace(text.find("epochs: 1"), 9, "epochs: 2");
  write_file_atomically(stored, text);
  const auto outcome = test::run_command(
      {"train", "--resume", (folder_ / "run").string(), "--cache", (folder_ / "cache").string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.err, "(train, mirrored): from the cache"));
}

TEST_F(HybridTraining, RefusesWhatMapsCannotHold) {
  const std::string cached = "train.cache_backbone=fp16";
  EXPECT_TRUE(test::contains(refusal({cached, "data.augment.crop_padding=2"}),
                             "of data.augment only flip goes with it"));
  EXPECT_TRUE(test::contains(refusal({cached, "data.augment.mixup=0.2"}), "only flip"));
  EXPECT_TRUE(
      test::contains(refusal({cached, "train.freeze=none"}), "set train.freeze=model.backbone"));
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               run("run", {cached, "model.backbone.kind=none"});
                             }),
                             "the model has none"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(HybridTraining, RefusesWeightsThatAreNoBackboneOfTheModel) {
  EXPECT_TRUE(test::contains(refusal({"init=" + resnet_.string()}), "leave out init_backbone"));
  EXPECT_TRUE(test::contains(refusal({"model=cct_2_3x2"}), "unknown key 'backbone'"));
  EXPECT_TRUE(test::contains(test::error_of([&] { run("run", {"model.backbone.blocks=[1, 2]"}); }),
                             "layer2.1.conv1.weight is missing in it"));
  EXPECT_TRUE(test::contains(test::error_of([&] { run("run", {"model.backbone.block=basic"}); }),
                             "does not fit the backbone"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  test::save_small_checkpoint(resnet_, "vit_c10_small", test::kSmallVit);
  EXPECT_TRUE(test::contains(refusal({}), "cannot be a backbone; choose a ResNet"));
  EXPECT_TRUE(test::contains(test::error_of([&] { read_recipe(recipe_.string(), {}); }),
                             "set init_backbone to pre-trained weights"));
}

TEST_F(HybridTraining, TheShippedRecipeAndItsControlDifferInTheBackboneAlone) {
  const auto file = [](const std::string& name) {
    return fmt::format("{}/recipes/finetune/{}.yaml", VITRINE_SOURCE_DIR, name);
  };
  auto hybrid = read_recipe(file("hybrid-r50-cifar10"), {"init_backbone=" + resnet_.string()});
  const auto control = read_recipe(file("hybrid-r50-control"), {});
  EXPECT_EQ(hybrid.data.preprocess.image, control.data.preprocess.image);
  hybrid.data.preprocess = control.data.preprocess;
  EXPECT_EQ(to_yaml(hybrid.data), to_yaml(control.data));
  hybrid.train.freeze = kNoFreeze;
  hybrid.train.cache_backbone = MapCache::None;
  EXPECT_EQ(to_yaml(hybrid.train), to_yaml(control.train));
  hybrid.model = read_model(to_yaml(hybrid.model), {"patch=16"}, "test");
  const auto vit = [](const Recipe& r) {
    const auto text = to_yaml(r.model);
    return text.substr(0, text.find("backbone:"));
  };
  EXPECT_EQ(vit(hybrid), vit(control));
}

TEST(FeatureCache, KeepsPartsAndRefusesWhatHalfPrecisionCannotHold) {
  class Numbers : public BatchSource {
   public:
    int64_t size() const override { return FeatureSet::kPartRows + 3; }
    Batch load(const std::vector<int64_t>& indices, int64_t) const override {
      return {torch::tensor(indices).to(torch::kFloat), torch::tensor(indices)};
    }
  };
  const test::TemporaryFolder folder;
  int64_t calls = 0;
  const auto features = [&](double factor, torch::Dtype dtype) {
    return cached_features(Numbers(),
                           [&](const torch::Tensor& x) {
                             ++calls;
                             return factor * x.view({-1, 1});
                           },
                           {.cache = folder / "cache",
                            .key = fmt::format("{}", factor),
                            .batch = 1000,
                            .dtype = dtype});
  };
  const auto set = features(2, torch::kFloat);
  EXPECT_EQ(set->parts.size(), 2u);
  EXPECT_EQ(set->row(FeatureSet::kPartRows + 2).item<double>(), 2. * (FeatureSet::kPartRows + 2));
  EXPECT_EQ(set->targets[5].item<int64_t>(), 5);
  EXPECT_EQ(calls, 6);  // five batches of the first part, one of the second
  auto files = fs::directory_iterator(folder / "cache");
  const auto one = files->path();
  fs::remove(one);
  const auto again = features(2, torch::kFloat);
  EXPECT_FALSE(again->from_cache);
  EXPECT_LT(calls, 12);  // the other part was there
  EXPECT_TRUE(features(2, torch::kFloat)->from_cache);
  const auto path = fs::directory_iterator(folder / "cache")->path();
  auto bytes = read_file(path);
  bytes.back() ^= 1;
  write_file_atomically(path, bytes);
  const auto recomputed = features(2, torch::kFloat);
  EXPECT_FALSE(recomputed->from_cache);
  EXPECT_EQ(recomputed->row(7).item<double>(), 14);
  EXPECT_TRUE(features(2, torch::kFloat)->from_cache);
  EXPECT_TRUE(
      test::contains(test::error_of([&] { features(1e3, torch::kHalf); }), "do not fit float16"));
}

}  // namespace vitrine
