// CvT against the authors' code (tests/fixtures/make_cvt.py), its grids and its BatchNorm.
#include "vitrine/models/cvt.h"

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/support/parity.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/conv_attention.h"
#include "vitrine/nn/pre_norm_block.h"

namespace vitrine {
namespace {

CvtConfig small_cvt() {
  return {.image = 64, .classes = 10, .dims = {8, 12, 16}, .depths = {1, 1, 2}, .heads = {1, 3, 2}};
}

std::string cvt_refusal(const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice("cvt_13");
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

}  // namespace

TEST(Parity, ASmallCvtEqualsTheAuthorsCode) {
  Cvt model(small_cvt());
  test::expect_parity(model, "small", "cvt.json");
}

TEST(Parity, ACvtOfOddGridsAndOtherStridesEqualsTheAuthorsCode) {
  auto config = small_cvt();
  config.image = 30;
  config.strides = {2, 2, 2};
  config.mlp_ratios = {4, 2.75, 2};
  config.kv_strides = {4, 2, 1};
  Cvt model(config);
  test::expect_parity(model, "odd", "cvt.json");
}

TEST(Parity, Cvt13EqualsTheAuthorsCode) {
  Cvt model(cvt_13());
  test::expect_first_logits(model, "cvt_13", "cvt.json");
}

TEST(Cvt, KeysLieOnGridsOfHalfTheSideAndTheClassTokenJoinsTheLastStage) {
  const ShapesOnly shapes_only;
  const torch::NoGradGuard no_grad;
  Cvt model(cvt_13());
  model.eval();
  AttentionCapture capture;
  model.forward(model.example_input(1));
  ASSERT_EQ(capture.layers.size(), 13u);
  for (size_t i = 0; i < capture.layers.size(); ++i) {
    const int64_t side = i < 1 ? 56 : i < 3 ? 28 : 14, prefix = i < 3 ? 0 : 1;
    EXPECT_EQ(capture.layers[i].queries, (TokenGrid{side, side, prefix})) << i;
    EXPECT_EQ(capture.layers[i].keys, (TokenGrid{side / 2, side / 2, prefix})) << i;
  }
}

TEST(Cvt, ANumberPerStageIsShortForTheSameInAllItsBlocks) {
  auto by_stage = small_cvt(), by_block = small_cvt();
  by_stage.mlp_ratios = {4, 2, 3};
  by_stage.kv_strides = {4, 2, 1};
  by_block.mlp_ratios = {4, 2, 3, 3};
  by_block.kv_strides = {4, 2, 1, 1};
  Cvt a(by_stage), b(by_block);
  const torch::NoGradGuard no_grad;
  const auto from = a.named_parameters();
  ASSERT_EQ(b.named_parameters().size(), from.size());
  for (auto& item : b.named_parameters()) item.value().copy_(from[item.key()]);
  a.eval();
  b.eval();
  const auto x = a.example_input(2);
  EXPECT_TRUE(a.forward(x).equal(b.forward(x)));
}

TEST(Cvt, TheSearchedNetworkHasItsOwnStridesAndRatiosInEachBlock) {
  const ShapesOnly shapes_only;
  const torch::NoGradGuard no_grad;
  Cvt model(cvt_13_nas());
  model.eval();
  AttentionCapture capture;
  model.forward(model.example_input(1));
  ASSERT_EQ(capture.layers.size(), 13u);
  const auto widths = [&](size_t stage, size_t block) {
    const auto weight =
        model.named_parameters()[fmt::format("stage{}.blocks.{}.mlp.fc1.weight", stage, block)];
    return weight.size(0) / weight.size(1);
  };
  for (size_t i = 0; i < 13; ++i) {
    const int64_t side = i < 1 ? 56 : i < 3 ? 28 : 14;
    const size_t stage = i < 1 ? 0 : i < 3 ? 1 : 2, block = i < 1 ? i : i < 3 ? i - 1 : i - 3;
    EXPECT_EQ(capture.layers[i].keys.rows, i >= 5 && i <= 8 ? side : side / 2) << i;
    EXPECT_EQ(widths(stage, block), i >= 4 && i <= 10 ? 4 : 2) << i;
  }
}

TEST(Cvt, StochasticDepthIsInTheLastStageAlone) {
  using Block = PreNormBlockImpl<ConvAttention, FeedForward>;
  auto config = small_cvt();
  config.depths = {1, 2, 3};
  config.drop_path = 0.2;
  const Cvt model(config);
  const auto drop_path = [&](size_t stage, size_t block) {
    return model.stages[stage]->blocks->at<Block>(block).config.drop_path;
  };
  EXPECT_EQ(drop_path(0, 0), 0);
  EXPECT_EQ(drop_path(1, 1), 0);
  EXPECT_EQ(drop_path(2, 0), 0);
  EXPECT_DOUBLE_EQ(drop_path(2, 1), 0.1);
  EXPECT_DOUBLE_EQ(drop_path(2, 2), 0.2);
}

TEST(Cvt, RecomputedBlocksCountEachBatchOnce) {
  torch::manual_seed(1);
  Cvt kept(small_cvt()), again(small_cvt());
  const auto from = kept.named_parameters();
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : again.named_parameters()) item.value().copy_(from[item.key()]);
  }
  again.recompute_blocks = true;
  const auto x = kept.example_input(3);
  for (auto* model : {&kept, &again}) model->forward(x).square().sum().backward();
  for (const auto& item : kept.named_parameters())
    EXPECT_TRUE(torch::allclose(again.named_parameters()[item.key()].grad(), item.value().grad(),
                                1e-3, 1e-5))
        << item.key();
  for (const auto& item : kept.named_buffers())
    EXPECT_TRUE(again.named_buffers()[item.key()].equal(item.value())) << item.key();
}

TEST(Cvt, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(
      test::contains(cvt_refusal("heads: [1, 5, 6]"), "stage 2: dim 192 is not a multiple"));
  EXPECT_TRUE(test::contains(cvt_refusal("paddings: [2, 1]"), "paddings has 2 numbers and dims 3"));
  EXPECT_TRUE(test::contains(cvt_refusal("mlp_ratios: [4, 4]"),
                             "mlp_ratios has 2 numbers; give one for each of 3 stages or of 13"));
  EXPECT_TRUE(test::contains(cvt_refusal("kv_strides: [2, 1, 0]"), "kv_strides of 0 must be"));
  EXPECT_TRUE(test::contains(cvt_refusal("paddings: [7, 1, 1]"),
                             "stage 1: padding 7 is not between 0 and the kernel's 7"));
  EXPECT_TRUE(test::contains(cvt_refusal("mlp_ratios: [4, 4, 0]"), "leaves no hidden unit"));
  EXPECT_TRUE(test::contains(cvt_refusal("{image: 2, paddings: [0, 0, 0]}"), "is too small for 3"));
}

}  // namespace vitrine
