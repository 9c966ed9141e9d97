// Runs that start from pre-trained weights: what is loaded, what stays, how fast each layer learns.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/training.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/models/vit.h"
#include "vitrine/train/freeze.h"
#include "vitrine/train/init_weights.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/run.h"
#include "vitrine/train/trainer.h"

namespace vitrine {
namespace {

/// A recipe without a model: it is the weights'.
constexpr const char* kRecipe = R"(name: tuned
data:
  dataset: {name: synthetic, train: 40, test: 16, image: 16, classes: 4}
  batch: 8
  validation: 0.2
train: {epochs: 2, log_steps: 1, optimizer: {lr: 1e-2, weight_decay: 0.5}}
)";

class FineTuning : public testing::Test {
 protected:
  FineTuning() {
    write_file_atomically(recipe_, kRecipe);
    auto settings = test::kSmallVit;
    settings.emplace_back("data.preprocess.mean=[0.1, 0.2, 0.3]");
    settings.emplace_back("data.preprocess.std=[0.4, 0.5, 0.6]");
    test::save_small_checkpoint(init_, "vit_c10_small", settings);
  }

  Recipe recipe(std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.begin(), "init=" + init_.string());
    return read_recipe(recipe_.string(), overrides);
  }

  /// Starts from the weights; `said_` is what became of them.
  std::shared_ptr<Model> started(const std::vector<std::string>& overrides = {}) {
    auto tuned = recipe(overrides);
    tuned.data = resolved_data_config(tuned.data);
    const auto data = open_data(tuned.data, /*seed=*/1);
    InitWeights weights(tuned.init);
    weights.fit(tuned, data);
    auto model = build_for_training(tuned, data);
    said_ = weights.load_into(*model);
    return model;
  }

  RunOutcome run(const std::vector<std::string>& overrides) {
    messages_.clear();
    return run_recipe(recipe(overrides),
                      {.threads = 2,
                       .folder = folder_ / "run",
                       .show_progress = false,
                       .write_reports = false,
                       .on_message = [&](const std::string& text) { messages_ += text + "\n"; }});
  }

  /// The names of the weights of the run's last checkpoint that differ from those it began with.
  std::set<std::string> moved() const {
    const auto before = load_safetensors(init_),
               after = load_safetensors(folder_ / "run/checkpoints/last.safetensors");
    std::set<std::string> names;
    for (const auto& [name, weight] : after.tensors)
      if (const auto* old = before.find(name); old == nullptr || !old->equal(weight))
        names.insert(name);
    return names;
  }

  test::TemporaryFolder folder_;
  fs::path recipe_ = folder_ / "tuned.yaml", init_ = folder_ / "init.safetensors";
  std::string messages_, said_;
};

/// The rate that each parameter's gradient is multiplied by, found by a step of plain SGD.
std::map<std::string, double> rates_of(Model& model, const OptimizerConfig& config) {
  Optimizer optimizer(config, model.parameter_info());
  std::map<std::string, torch::Tensor> before;
  for (const auto& p : model.parameter_info()) {
    before[p.name] = p.tensor.detach().clone();
    torch::Tensor tensor = p.tensor;
    tensor.mutable_grad() = torch::ones_like(tensor);
  }
  optimizer.step(config.lr, /*gradient_scale=*/1);
  std::map<std::string, double> rates;
  for (const auto& p : model.parameter_info())
    rates[p.name] = (before[p.name] - p.tensor).mean().item<double>();
  return rates;
}

}  // namespace

TEST_F(FineTuning, TakesModelAndHeadOfTheSameClassesAsTheyAre) {
  const auto model = started();
  const auto file = load_safetensors(init_);
  const auto weights = named_weights(*model);
  ASSERT_EQ(weights.size(), file.tensors.size());
  for (const auto& [name, weight] : weights) EXPECT_TRUE(file.find(name)->equal(weight)) << name;
  EXPECT_FALSE(said_.find("head") != std::string::npos) << said_;
  EXPECT_TRUE(test::contains(said_, fmt::format("{} tensors loaded", weights.size())));
}

TEST_F(FineTuning, TheRecipeIsReadWithoutTheWeights) {
  auto bytes = read_file(init_);
  bytes.back() ^= 1;
  write_file_atomically(init_, bytes);
  EXPECT_EQ(recipe().data.preprocess.mean[0], 0.1);
  EXPECT_TRUE(test::contains(test::error_of([&] { started(); }), "checksum"));
}

TEST_F(FineTuning, ANewHeadOfZerosStartsAtTheLogarithmOfTheClasses) {
  run({"data.dataset.classes=3", "train.epochs=1"});
  EXPECT_TRUE(test::contains(messages_, "new head of zeros (head.weight, head.bias)"));
  const auto lines = read_metrics(folder_ / "run/metrics.jsonl");
  ASSERT_EQ(lines.at(0).kind, "step");
  EXPECT_NEAR(lines[0].value("loss"), std::log(3), 1e-6);
  const auto [model, info] = load_checkpoint(folder_ / "run");
  EXPECT_EQ(model->image_shape()->classes, 3);
  EXPECT_EQ(info.classes.size(), 3u);
}

TEST_F(FineTuning, OtherClassesOfTheSameNumberGetANewHead) {
  auto tuned = recipe();
  auto data = open_data(resolved_data_config(tuned.data), /*seed=*/1);
  data.classes.back() = "another";
  InitWeights weights(tuned.init);
  weights.fit(tuned, data);
  const auto model = build_for_training(tuned, data);
  EXPECT_TRUE(test::contains(weights.load_into(*model), "new head"));
  for (const auto& [name, weight] : named_weights(*model))
    if (name.starts_with("head.")) {
      EXPECT_EQ(weight.abs().sum().item<double>(), 0) << name;
    }
}

TEST_F(FineTuning, AnotherResolutionInterpolatesThePositionsAndNothingElse) {
  const auto model = started({"model.image=24"});
  const auto file = load_safetensors(init_);
  for (const auto& [name, weight] : named_weights(*model)) {
    const auto& stored = *file.find(name);
    const auto expected = name == "pos_embed" ? resized_positions(stored, /*prefix=*/1, 6, 6,
                                                                  PositionResize::BicubicAntialias)
                                              : stored;
    EXPECT_TRUE(expected.equal(weight)) << name;
  }
  EXPECT_TRUE(test::contains(said_, "pos_embed resized, 1x17x32 -> 1x37x32"));
  EXPECT_EQ(recipe({"model.image=24"}).data.preprocess.image, 24);
}

TEST_F(FineTuning, TheWeightsBringTheirNormalisationUnlessTheRecipeSaysOtherwise) {
  const std::vector<double> theirs = {0.1, 0.2, 0.3}, ours = {0.7, 0.8, 0.9};
  EXPECT_EQ(recipe().data.preprocess.mean, theirs);
  EXPECT_TRUE(InitWeights(init_).notes(recipe()).empty());
  const auto tuned = recipe({"data.preprocess.mean=[0.7, 0.8, 0.9]"});
  EXPECT_EQ(tuned.data.preprocess.mean, ours);
  const auto notes = InitWeights(init_).notes(tuned);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "note: data.preprocess.mean is [0.7, 0.8, 0.9], that of the weights [0.1, 0.2, 0.3]");
}

TEST_F(FineTuning, TheRecipeMayChangeTheModelButNotWhatTheWeightsAreFor) {
  EXPECT_TRUE(test::contains(to_yaml(recipe({"model.drop_path=0.2"}).model), "drop_path: 0.2"));
  const auto error = [&](const std::string& override) {
    return test::error_of([&] { started({override}); });
  };
  EXPECT_TRUE(test::contains(error("model.name=resnet18"), "leave model.name out"));
  EXPECT_TRUE(test::contains(error("data.dataset.channels=1"),
                             "takes images of 3 channels, and data set 'synthetic' has 1 channel"));
  EXPECT_TRUE(test::contains(error("data.dataset=waves"), "classifies images"));
  EXPECT_TRUE(test::contains(error("model.classes=7"), "set model.classes=4"));
  const auto shapes = error("model.dim=16");
  EXPECT_TRUE(test::contains(shapes, "1x1x32"));
  EXPECT_TRUE(test::contains(shapes, "1x1x16"));
  EXPECT_TRUE(test::contains(error("init=/nowhere.safetensors"), "does not exist"));
}

TEST_F(FineTuning, AModelOfOtherChannelsIsRefused) {
  auto tuned = recipe();
  tuned.model = read_model(to_yaml(tuned.model), {"channels=1"}, "test");
  const auto model = tuned.model.build();
  EXPECT_TRUE(test::contains(test::error_of([&] { InitWeights(init_).load_into(*model); }),
                             "'patch_embed.proj.weight' is 32x3x4x4, the model's is 32x1x4x4"));
}

TEST_F(FineTuning, LayersLearnAtTheirPowersOfTheDecay) {
  const auto model = started();
  const auto rates = rates_of(
      *model,
      {.kind = optimizers::sgd, .lr = 0.25, .layer_decay = 0.5, .weight_decay = 0, .momentum = 0});
  const auto expect = [&](const std::string& name, double rate) {
    EXPECT_NEAR(rates.at(name), rate, 1e-6) << name;
  };
  expect("head.weight", 0.25);
  expect("norm.bias", 0.25);
  expect("blocks.1.mlp.fc1.weight", 0.25 / 2);
  expect("blocks.0.attn.qkv.bias", 0.25 / 4);
  expect("patch_embed.proj.weight", 0.25 / 8);
  expect("pos_embed", 0.25 / 8);
}

TEST_F(FineTuning, FrozenBlocksDoNotMoveABitUnderDecayAndAveraging) {
  run({"train.freeze=1", "train.ema=0.9"});
  std::set<std::string> expected;
  for (const auto& p : started()->parameter_info())
    if (p.depth > 1) expected.insert(p.name);
  EXPECT_EQ(moved(), expected);
  const auto state = load_safetensors(folder_ / "run/checkpoints/resume.safetensors");
  const auto before = load_safetensors(init_);
  EXPECT_TRUE(state.find("model.blocks.0.attn.qkv.weight")
                  ->equal(*before.find("blocks.0.attn.qkv.weight")));
  EXPECT_EQ(state.find("optimizer.blocks.0.attn.qkv.weight.moment1"), nullptr);
}

TEST_F(FineTuning, AFrozenEmbeddingStaysAndAFrozenBackboneLeavesTheHead) {
  EXPECT_EQ(started({"train.freeze=embed"})->parameter_info().front().depth, 1);
  run({"train.freeze=backbone"});
  EXPECT_EQ(moved(), (std::set<std::string>{"head.weight", "head.bias"}));
}

TEST_F(FineTuning, AFrozenCnnKeepsItsRunningStatistics) {
  test::save_small_checkpoint(init_, "resnet18", {"model.stem=cifar", "model.blocks=[1]"});
  run({"train.freeze=backbone"});
  EXPECT_EQ(moved(), (std::set<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_TRUE(test::contains(test::error_of([&] { started({"train.freeze=1"}); }),
                             "this model has none; set train.freeze=backbone"));
  EXPECT_TRUE(test::contains(test::error_of([&] { started({"train.optimizer.layer_decay=0.5"}); }),
                             "has none; set train.optimizer.layer_decay=1"));
}

TEST_F(FineTuning, RefusesWhatCannotBeFrozen) {
  const auto error = [&](const std::string& override) {
    return test::error_of([&] { started({override}); });
  };
  EXPECT_TRUE(test::contains(error("train.freeze=3"), "set train.freeze=2 at most"));
  EXPECT_TRUE(test::contains(error("train.freeze=head"), "freeze is 'head'; choose none, embed"));
  EXPECT_TRUE(test::contains(error("train.freeze=0"), "at least 1"));
  EXPECT_TRUE(test::contains(error("train.optimizer.layer_decay=0"), "layer_decay 0"));
  const auto scratch = test::error_of([&] {
    read_recipe(recipe_.string(), {"model=vit_c10_small", "train.freeze=1"});
  });
  EXPECT_TRUE(test::contains(scratch, "would keep random weights"));
}

TEST_F(FineTuning, TheShippedRecipesAreTheThreeExperiments) {
  const auto read = [&](const std::string& name) {
    return read_recipe(fmt::format("{}/recipes/finetune/{}.yaml", VITRINE_SOURCE_DIR, name),
                       {"init=" + init_.string()});
  };
  const auto first = read("experiment1"), second = read("experiment2"), third = read("experiment3");
  for (const auto* r : {&first, &second, &third}) {
    EXPECT_EQ(r->train.optimizer.kind, optimizers::adamw);
    EXPECT_EQ(r->train.schedule.kind, ScheduleKind::Constant);
    EXPECT_EQ(r->data.batch, 64);
    EXPECT_EQ(r->data.preprocess.image, 224);
  }
  EXPECT_DOUBLE_EQ(first.train.optimizer.lr, 1e-4);
  EXPECT_EQ(first.data.augment, AugmentConfig{});
  EXPECT_EQ(first.train.epochs, 10);
  EXPECT_DOUBLE_EQ(second.train.optimizer.lr, 3e-4);
  EXPECT_EQ(second.data.augment, AugmentConfig{});
  EXPECT_EQ(second.train.epochs, 10);
  EXPECT_DOUBLE_EQ(third.train.optimizer.lr, 3e-4);
  EXPECT_DOUBLE_EQ(third.train.optimizer.weight_decay, 1e-4);
  EXPECT_DOUBLE_EQ(third.train.label_smoothing, 0.1);
  EXPECT_DOUBLE_EQ(third.data.augment.flip, 0.5);
  EXPECT_DOUBLE_EQ(third.data.augment.rotation, 15);
  EXPECT_GT(third.data.augment.hue, 0);
  EXPECT_EQ(third.train.epochs, 50);
  EXPECT_EQ(read("vit_ti16-cifar10").data.dataset.name(), "cifar10");
}

TEST_F(FineTuning, ScratchTakesTheModelButNotTheWeights) {
  run({"scratch=true", "data.dataset.classes=3", "train.epochs=1"});
  EXPECT_TRUE(test::contains(messages_, "random weights, as `scratch` wants"));
  const auto lines = read_metrics(folder_ / "run/metrics.jsonl");
  EXPECT_GT(std::abs(lines.at(0).value("loss") - std::log(3)), 1e-4);  // its head is not zero
  EXPECT_EQ(recipe({"scratch=true"}).data.preprocess.mean, (std::vector<double>{0.1, 0.2, 0.3}));
  const auto alone = test::error_of([&] {
    read_recipe(recipe_.string(), {"model=vit_c10_small", "scratch=true"});
  });
  EXPECT_TRUE(test::contains(alone, "scratch takes the model of init"));
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               recipe({"scratch=true", "train.freeze=1"});
                             }),
                             "would keep random weights"));
  EXPECT_TRUE(test::contains(test::error_of([&] { read_recipe(recipe_.string(), {}); }),
                             "model.name is missing; choose one of `vitrine models`, or give"));
}

TEST_F(FineTuning, TheSameRecipeMayBeGivenWhenARunIsResumed) {
  const auto line = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"train", recipe_.string(), "init=" + init_.string(),
                                    "data.dataset.classes=3", "train.epochs=1"};
    all.insert(all.end(), more.begin(), more.end());
    return test::run_command(all);
  };
  const auto run = (folder_ / "run").string();
  const auto trained = line({"--run", run});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(test::contains(trained.err, "new head of zeros"));
  const auto again = line({"--resume", run});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(line({"model.dropout=0.1", "--resume", run}).code, 1);
}

}  // namespace vitrine
