#include "vitrine/models/swin.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/errors.h"
#include "tests/support/small_model.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/weights/load.h"

namespace vitrine {
namespace {

std::string swin_refusal(const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice("swin_t");
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

using SwinShapes = std::map<std::string, std::vector<int64_t>>;

SwinShapes swin_shapes(const SwinConfig& config) {
  SwinShapes shapes;
  for (const auto& [name, tensor] : named_weights(Swin(config)))
    shapes[name] = tensor.sizes().vec();
  return shapes;
}

}  // namespace

TEST(Swin, HasTheNamesAndShapesOfMicrosofts) {
  const auto shapes = swin_shapes(swin_c10());
  for (const auto& [name, shape] :
       SwinShapes{{"patch_embed.proj.weight", {48, 3, 2, 2}},
                  {"patch_embed.norm.bias", {48}},
                  {"layers.0.blocks.1.norm1.weight", {48}},
                  {"layers.1.blocks.0.attn.relative_position_bias_table", {49, 4}},
                  {"layers.1.blocks.1.attn.qkv.weight", {288, 96}},
                  {"layers.1.blocks.1.attn.qkv.bias", {288}},
                  {"layers.2.blocks.0.attn.proj.bias", {192}},
                  {"layers.2.blocks.1.mlp.fc1.weight", {768, 192}},
                  {"layers.0.downsample.norm.weight", {192}},
                  {"layers.1.downsample.reduction.weight", {192, 384}},
                  {"norm.weight", {192}},
                  {"head.weight", {10, 192}}}) {
    ASSERT_TRUE(shapes.contains(name)) << name;
    EXPECT_EQ(shapes.at(name), shape) << name;
  }
  // 13 of each of 6 blocks, 3 of each of 2 mergings, 8 of patches, norm and head; no buffers.
  EXPECT_EQ(shapes.size(), 6u * 13 + 2 * 3 + 8);
}

TEST(Swin, OfTheSecondVersionHasTheNamesAndShapesOfMicrosofts) {
  const auto shapes = swin_shapes(swin_v2_c10());
  for (const auto& [name, shape] : SwinShapes{{"layers.1.blocks.1.attn.qkv.weight", {288, 96}},
                                              {"layers.1.blocks.1.attn.q_bias", {96}},
                                              {"layers.1.blocks.1.attn.v_bias", {96}},
                                              {"layers.2.blocks.0.attn.logit_scale", {8, 1, 1}},
                                              {"layers.2.blocks.0.attn.cpb_mlp.0.weight", {512, 2}},
                                              {"layers.2.blocks.0.attn.cpb_mlp.0.bias", {512}},
                                              {"layers.2.blocks.0.attn.cpb_mlp.2.weight", {8, 512}},
                                              {"layers.0.downsample.norm.weight", {96}}}) {
    ASSERT_TRUE(shapes.contains(name)) << name;
    EXPECT_EQ(shapes.at(name), shape) << name;
  }
  EXPECT_EQ(shapes.size(), 6u * 17 + 2 * 3 + 8);
}

TEST(Swin, AttendsOnTheGridOfEachStage) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  Swin model(swin_c10());
  model.eval();
  AttentionCapture capture;
  model.forward(model.example_input(1));
  ASSERT_EQ(capture.layers.size(), 6u);
  const std::vector<int64_t> sides = {16, 16, 8, 8, 4, 4};
  for (size_t i = 0; i < sides.size(); ++i) {
    EXPECT_EQ(capture.layers[i].queries, (TokenGrid{sides[i], sides[i]})) << i;
    EXPECT_EQ(capture.layers[i].keys, capture.layers[i].queries) << i;
  }
  // The first token looks up to the fourth of its row; shifted by two, up to the second.
  const auto seen = [&](size_t layer) {
    return capture.layers[layer].weights[0][0][0].gt(1e-30).sum().item<int64_t>();
  };
  EXPECT_EQ(seen(0), 16);
  EXPECT_EQ(seen(1), 4);
  EXPECT_EQ(seen(3), 4);
  EXPECT_EQ(seen(5), 16);  // one window is the whole grid
  EXPECT_EQ(capture.readout_kind, Readout::Mean);
  EXPECT_EQ(capture.readout.size(1), 16);
}

TEST(Swin, ListsTheBlocksOfAllStages) {
  const Swin model(swin_c10());
  const auto blocks = model.blocks_in_order();
  ASSERT_EQ(blocks.size(), 6u);
  EXPECT_EQ(blocks[2].get(), model.stages[1]->blocks->in_order()[0].get());
}

TEST(Swin, StochasticDepthGrowsThroughAllStages) {
  auto config = swin_c10();
  config.drop_path = 0.5;
  const Swin model(config);
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_DOUBLE_EQ(model.stages[i / 2]->blocks->at<SwinBlockImpl>(i % 2).drop, 0.1 * i);
}

TEST(Swin, RecomputesItsBlocks) {
  torch::manual_seed(1);
  Swin model(swin_v2_c10());
  const auto x = model.example_input(2);
  const auto gradient = [&](bool recompute) {
    model.recompute_blocks = recompute;
    model.zero_grad();
    model.forward(x).square().sum().backward();
    return model.stages[1]->blocks->at<SwinBlockImpl>(1).attn->qkv->weight.grad().clone();
  };
  EXPECT_TRUE(torch::allclose(gradient(true), gradient(false), 1e-4, 1e-6));
}

TEST(PatchMerging, TakesASquareColumnByColumn) {
  const torch::NoGradGuard no_grad;
  PatchMerging merging(/*side=*/4, /*dim=*/1, SwinVersion::V2);
  merging->reduction->weight.zero_();
  merging->reduction->weight[0][1] = 1;  // the token below the first
  merging->reduction->weight[1][2] = 1;  // the token to its right
  const auto x = torch::arange(16, torch::kFloat).view({1, 16, 1});
  const auto squares =
      merging->reduction(x.view({1, 2, 2, 2, 2, 1}).permute({0, 1, 3, 4, 2, 5}).reshape({1, 4, 4}));
  EXPECT_TRUE(squares.select(2, 0).flatten().equal(torch::tensor({4, 6, 12, 14}, torch::kFloat)));
  EXPECT_TRUE(squares.select(2, 1).flatten().equal(torch::tensor({1, 3, 9, 11}, torch::kFloat)));
  EXPECT_TRUE(torch::allclose(merging(x), merging->norm(squares)));
}

TEST(Swin, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(swin_refusal("image: 384"),
                             "window 7 does not divide the 96 x 96 tokens of stage 1"));
  EXPECT_TRUE(test::contains(swin_refusal("image: 240"), "image 240 does not give 4 stages"));
  EXPECT_TRUE(test::contains(swin_refusal("image: 240"), "choose a multiple of 32"));
  EXPECT_TRUE(test::contains(swin_refusal("heads: [3, 6, 12, 7]"),
                             "the dimension 768 of stage 4 is not a multiple of its heads 7"));
  EXPECT_TRUE(test::contains(swin_refusal("heads: [3, 6, 12]"), "give one for each stage"));
  EXPECT_TRUE(test::contains(swin_refusal("depths: []"), "give one for each stage"));
  EXPECT_TRUE(test::contains(swin_refusal("pretrained_windows: [12, 12, 12, 6]"),
                             "pretrained_windows is for version v2"));
  EXPECT_TRUE(test::contains(swin_refusal("{version: v2, pretrained_windows: [12]}"),
                             "pretrained_windows has 1 numbers for 4 stages"));
  EXPECT_TRUE(test::contains(swin_refusal("drop_path: 1"), "drop_path 1 is not in [0, 1)"));
}

}  // namespace vitrine
