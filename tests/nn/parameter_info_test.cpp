#include "vitrine/nn/parameter_info.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "vitrine/nn/attention.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/sparse_block.h"

namespace vitrine {
namespace {

std::map<std::string, ParameterInfo> by_name(const torch::nn::Module& model,
                                             const BlockListImpl::Blocks& blocks) {
  std::map<std::string, ParameterInfo> result;
  for (const auto& info : parameter_info(model, blocks)) result.emplace(info.name, info);
  return result;
}

/// Two stages of blocks with a layer between them, as in hierarchical networks. Its names would
/// mislead whoever reads them.
struct TwoStages : torch::nn::Module {
  TwoStages() {
    const EncoderBlockConfig block{.dim = 8, .heads = 2, .hidden = 16, .max_relative_distance = 3};
    register_parameter("weight", torch::zeros({4, 8}));
    stem = register_module("stem_token", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 4)));
    first = register_module("stage_bias", encoder_blocks(block, 1));
    merge = register_module("merge_embed", Linear(8, 8));
    second = register_module("stage_embed", encoder_blocks(block, 2));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({8})));
    head = register_module("head", Linear(8, 2));
  }

  BlockListImpl::Blocks blocks() const {
    auto all = first->in_order();
    all.insert(all.end(), second->begin(), second->end());
    return all;
  }

  torch::nn::Conv2d stem{nullptr};
  BlockList first{nullptr}, second{nullptr};
  Linear merge{nullptr}, head{nullptr};
  torch::nn::LayerNorm norm{nullptr};
};

}  // namespace

TEST(ParameterInfo, TheKindOfLayerDecidesOnDecay) {
  const TwoStages model;
  const auto info = by_name(model, model.blocks());
  for (const auto* name : {"stem_token.weight", "stage_bias.0.attn.qkv.weight",
                           "stage_embed.1.mlp.fc1.weight", "merge_embed.weight", "head.weight"})
    EXPECT_TRUE(info.at(name).decay) << name;
  for (const auto* name : {"weight", "stem_token.bias", "stage_bias.0.norm1.weight",
                           "stage_bias.0.attn.relative_bias", "norm.weight", "head.bias"})
    EXPECT_FALSE(info.at(name).decay) << name;
}

TEST(ParameterInfo, MatricesAreTheWeightsOfLinearsInsideBlocks) {
  const TwoStages model;
  int64_t matrices = 0;
  for (const auto& [name, info] : by_name(model, model.blocks())) {
    if (!info.matrix) continue;
    ++matrices;
    EXPECT_EQ(info.tensor.dim(), 2) << name;
    EXPECT_TRUE(name.starts_with("stage_")) << name;
  }
  EXPECT_EQ(matrices, 3 * 4);  // qkv, proj, fc1 and fc2
}

TEST(ParameterInfo, TellsHowMatricesAreStacked) {
  const TwoStages model;
  const auto info = by_name(model, model.blocks());
  using Rows = std::vector<int64_t>;
  EXPECT_EQ(info.at("stage_embed.0.attn.qkv.weight").stacked, (Rows{8, 8, 8}));
  EXPECT_EQ(info.at("stage_embed.0.attn.proj.weight").stacked, Rows{});
  BlockList sparse;
  sparse->push_back(std::make_shared<SparseBlockImpl>(SparseBlockConfig{
      .attention = {.dim = 8, .key_width = 4, .patterns = {AttentionPattern{}}}, .hidden = 8}));
  EXPECT_EQ(by_name(*sparse, sparse->in_order()).at("0.attn.qkv.weight").stacked, (Rows{4, 4, 8}));
}

TEST(ParameterInfo, DepthGrowsFromTheInputToTheHead) {
  const TwoStages model;
  const auto info = by_name(model, model.blocks());
  const auto depth = [&](const char* name) { return info.at(name).depth; };
  EXPECT_EQ(depth("weight"), 0);
  EXPECT_EQ(depth("stem_token.bias"), 0);
  EXPECT_EQ(depth("stage_bias.0.norm1.weight"), 1);
  EXPECT_EQ(depth("merge_embed.weight"), 1);
  EXPECT_EQ(depth("stage_embed.0.mlp.fc2.bias"), 2);
  EXPECT_EQ(depth("stage_embed.1.mlp.fc2.bias"), 3);
  EXPECT_EQ(depth("norm.weight"), 4);
  EXPECT_EQ(depth("head.bias"), 4);
}

TEST(ParameterInfo, LeavesOutWhatDoesNotLearn) {
  TwoStages model;
  model.stem->weight.requires_grad_(false);
  const auto info = by_name(model, model.blocks());
  EXPECT_FALSE(info.contains("stem_token.weight"));
  EXPECT_EQ(info.size() + 1, model.named_parameters().size());
}

}  // namespace vitrine
