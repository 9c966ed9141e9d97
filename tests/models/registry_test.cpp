#include "vitrine/models/registry.h"

#include <torch/torch.h>

#include <map>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/small_model.h"
#include "tests/support/steps.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/optimizer.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

using test::small;

/// The shape of what a small model answers to three examples.
std::vector<int64_t> answer_shape(const Model& model) {
  switch (model.task()) {
    case Task::Classes:
      return {3, 5};
    case Task::DigitSum:
      return {3, kSumLogits};
    case Task::NextValue:
      return {3};
    case Task::NextToken: {
      const std::map<int64_t, int64_t> vocabularies = {{6, 40}, {16, 11}};  // words, colours
      const auto length = model.example_input(3).size(1);
      const auto known = vocabularies.find(length);
      return {3, length, known == vocabularies.end() ? kByteValues : known->second};
    }
  }
  return {};
}

/// What a published network has though nothing reads it: the last block of CvT is read at its class
/// token, which the convolution before the queries leaves out.
bool is_idle(const std::string& model, const std::string& parameter) {
  return model.starts_with("cvt_") &&
         parameter.starts_with("stage2.blocks.0.attn.conv_proj_q.");  // of a small one
}

class EveryModel : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(EveryModel, GivesFiniteOutputOfTheRightShape) {
  torch::manual_seed(1);
  const auto model = small(GetParam()).build();
  for (const bool training : {true, false}) {
    model->train(training);
    const auto y = model->forward(model->example_input(3));
    EXPECT_EQ(y.sizes(), answer_shape(*model));
    EXPECT_TRUE(torch::isfinite(y).all().item<bool>());
  }
}

TEST_P(EveryModel, GivesEveryParameterAGradient) {
  torch::manual_seed(1);
  const auto model = small(GetParam()).build();
  test::shake(*model, 0.02);
  const auto x = model->example_input(4);
  const auto objective =
      make_objective({.task = model->task()}, ObjectiveSettings(/*smoothing=*/0));
  const auto targets = random_targets(model->task(), model->forward(x));
  objective->loss(*model, {x, targets}).loss.backward();
  for (const auto& item : model->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_EQ(item.value().grad().abs().sum().item<double>() > 0, !is_idle(GetParam(), item.key()))
        << item.key();
  }
}

TEST_P(EveryModel, SavesAndLoadsAsItself) {
  test::TemporaryFolder folder;
  torch::manual_seed(1);
  const auto choice = small(GetParam());
  const auto model = choice.build();
  model->eval();
  const auto path = folder / "m.safetensors";
  save_checkpoint(
      path, *model,
      {.model = choice, .preprocess = Preprocess{}, .classes = {"a", "b", "c", "d", "e"}});
  const auto loaded = load_checkpoint(path);
  const auto x = model->example_input(2);
  EXPECT_TRUE(loaded.model->forward(x).equal(model->forward(x)));
  EXPECT_EQ(to_yaml(loaded.info.model), to_yaml(choice));
  EXPECT_EQ(loaded.info.classes.size(), 5u);
}

TEST_P(EveryModel, LearnsOneBatchByHeart) {
  torch::manual_seed(1);
  const auto model = small(GetParam()).build();
  const auto x = model->example_input(5);
  const auto objective =
      make_objective({.task = model->task()}, ObjectiveSettings(/*smoothing=*/0));
  const auto y = random_targets(model->task(), model->forward(x));
  Optimizer optimizer({.weight_decay = 0}, model->parameter_info());
  double loss = 0;
  for (int i = 0; i < 200; ++i) {
    const auto value = objective->loss(*model, {x, y}).loss;
    value.backward();
    optimizer.step(3e-3, 1);
    optimizer.zero_gradients();
    loss = value.item<double>();
    if (loss < 0.02) break;
  }
  EXPECT_LT(loss, 0.2);
}

TEST_P(EveryModel, DecodesStepByStepAsInTheForwardPass) {
  torch::manual_seed(1);
  const auto model = small(GetParam()).build();
  const bool is_decoder = model->task() == Task::NextToken;
  ASSERT_EQ(model->decoder() != nullptr, is_decoder);
  if (!is_decoder) return;
  test::shake(*model, 0.02);
  EXPECT_EQ(model->decoder()->vocabulary(), answer_shape(*model).back());
  EXPECT_LT(test::step_error(*model), 1e-5);
}

TEST_P(EveryModel, ConfigSurvivesTheTextRoundTrip) {
  const ModelChoice choice(GetParam());
  ModelChoice again;
  Settings::from_text(to_yaml(choice), "test").read_into(again);
  EXPECT_EQ(to_yaml(again), to_yaml(choice));
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryModel, testing::ValuesIn(models().names()),
                         [](const auto& info) { return info.param; });

TEST(Vit, EveryOptionWorks) {
  for (const auto* options :
       {"pool: mean", "positions: learned_2d", "positions: sinusoidal", "positions: none",
        "norm: post", "activation: relu", "{dropout: 0.1, attention_dropout: 0.1, drop_path: 0.2}",
        "head: token_gelu_norm", "channels: 1", "attention: {kind: linformer, length: 8}",
        "attention: {kind: performer, features: 16}",
        "attention: {kind: reformer, bucket: 8, rounds: 2}"}) {
    auto choice = small("vit_s16");
    Settings::from_text(options, "options").read_into(choice);
    const auto model = choice.build();
    const auto y = model->forward(model->example_input(2));
    EXPECT_EQ(y.sizes(), (std::vector<int64_t>{2, 5})) << options;
    y.sum().backward();
  }
}

TEST(Vit, EveryKindOfAttentionSavesAndLoadsAsItself) {
  test::TemporaryFolder folder;
  for (const auto* kind : {"linformer", "performer", "reformer"}) {
    auto choice = small("vit_s16");
    Settings::from_text(fmt::format("attention: {{kind: {}, length: 8}}", kind), "options")
        .read_into(choice);
    const auto model = choice.build();
    model->eval();
    const auto path = folder / fmt::format("{}.safetensors", kind);
    save_checkpoint(path, *model, {.model = choice, .preprocess = Preprocess{}});
    const auto x = model->example_input(2);
    EXPECT_TRUE(load_checkpoint(path).model->forward(x).equal(model->forward(x))) << kind;
  }
}

TEST(Vit, RefusesShapesThatDoNotFit) {
  const auto message_of = [](const std::string& options) {
    return test::error_of([&] {
      ModelChoice choice("vit_ti16");
      Settings::from_text(options, "r.yaml").read_into(choice);
      choice.build();
    });
  };
  EXPECT_TRUE(test::contains(message_of("patch: 15"), "patch 15 does not divide image 224"));
  EXPECT_TRUE(test::contains(message_of("heads: 5"), "dim 192 is not a multiple of heads 5"));
  EXPECT_TRUE(test::contains(message_of("depth: 0"), "must be positive"));
  EXPECT_TRUE(test::contains(message_of("haeds: 3"), "did you mean 'heads'?"));
  EXPECT_TRUE(test::contains(message_of("attention: {kind: linformer, length: 198}"),
                             "length 198 is not between 1 and the 197 tokens"));
  EXPECT_TRUE(test::contains(message_of("attention: {kind: perfomer}"), "'performer'?"));
}

TEST(ResNet, HasAStemForSmallImages) {
  ModelChoice choice("resnet18");
  Settings::from_text("{stem: cifar, image: 32, classes: 10}", "test").read_into(choice);
  const auto model = choice.build();
  EXPECT_EQ(model->forward(model->example_input(2)).sizes(), (std::vector<int64_t>{2, 10}));
  int64_t parameters = 0;
  for (const auto& p : model->parameters()) parameters += p.numel();
  EXPECT_EQ(parameters, 11173962);
}

TEST(Checkpoint, OfAnotherModelIsRefusedWithTheWeightsName) {
  test::TemporaryFolder folder;
  const auto choice = small("vit_ti16");
  const auto path = folder / "m.safetensors";
  save_checkpoint(path, *choice.build(), {.model = choice});
  auto other = small("cct_2_3x2").build();
  const auto message =
      test::error_of([&] { set_weights(*other, load_safetensors(path), path.string()); });
  EXPECT_TRUE(test::contains(message, "it belongs to another model"));
  EXPECT_TRUE(test::contains(message, path.string()));
}

}  // namespace vitrine
