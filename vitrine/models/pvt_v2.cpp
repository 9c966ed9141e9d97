#include "vitrine/models/pvt_v2.h"

#include <numeric>

#include "vitrine/core/checks.h"
#include "vitrine/nn/conv_feed_forward.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/pre_norm_block.h"
#include "vitrine/nn/readout.h"
#include "vitrine/nn/reduced_attention.h"

namespace vitrine {
namespace {

using PvtV2Block = PreNormBlockImpl<ReducedAttention, ConvFeedForward>;

PvtV2Config v2_with_depths(std::vector<int64_t> depths) {
  PvtV2Config c;
  c.depths = std::move(depths);
  return c;
}

}  // namespace

void PvtV2Config::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("kernels", kernels, "per stage: side of the overlapping patches; odd");
  f("strides", strides, "per stage: how far apart patches are, in tokens of the stage before");
  f("dims", dims, "per stage: embedding dimension");
  f("depths", depths, "per stage: blocks");
  f("heads", heads, "per stage: attention heads; must divide dims");
  f("mlp_ratios", mlp_ratios,
    "per stage: hidden size of the feed-forward network (MLP), in multiples of dims");
  f("sr_ratios", sr_ratios,
    "per stage: side of the square of tokens that is reduced to one key and value");
  f("dropout", dropout, "dropout after the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path, "stochastic depth of the last block, growing linearly from 0");
}

void PvtV2Config::validate() const {
  check(image > 0 && channels > 0 && classes > 0,
        "pvt_v2: image {}, channels {} and classes {} must be positive", image, channels, classes);
  check_stages("pvt_v2", {{"dims", dims},
                          {"kernels", kernels},
                          {"strides", strides},
                          {"depths", depths},
                          {"heads", heads},
                          {"mlp_ratios", mlp_ratios},
                          {"sr_ratios", sr_ratios}});
  const auto sides = grids();
  for (size_t i = 0; i < dims.size(); ++i) {
    check(kernels[i] % 2 == 1, "pvt_v2: stage {}: kernel {} is even; choose an odd one", i + 1,
          kernels[i]);
    check(dims[i] % heads[i] == 0,
          "pvt_v2: stage {}: dim {} is not a multiple of heads {}; choose heads that divide the "
          "width",
          i + 1, dims[i], heads[i]);
    check(sr_ratios[i] <= sides[i].rows,
          "pvt_v2: stage {}: sr_ratio {} is more than the {} tokens of a side", i + 1, sr_ratios[i],
          sides[i].rows);
  }
  check_fraction("pvt_v2", "dropout", dropout);
  check_fraction("pvt_v2", "attention_dropout", attention_dropout);
  check_fraction("pvt_v2", "drop_path", drop_path);
}

ConvEmbedConfig PvtV2Config::embed(size_t stage) const {
  return {.channels = stage == 0 ? channels : dims[stage - 1],
          .dim = dims[stage],
          .kernel = kernels[stage],
          .stride = strides[stage],
          .padding = kernels[stage] / 2};
}

std::vector<TokenGrid> PvtV2Config::grids() const {
  std::vector<TokenGrid> result;
  int64_t side = image;
  for (size_t i = 0; i < dims.size(); ++i) {
    side = embed(i).side(side);
    result.push_back({.rows = side, .columns = side});
  }
  return result;
}

PvtV2Config pvt_v2_b0() {
  PvtV2Config c;
  c.dims = {32, 64, 160, 256};
  return c;
}

PvtV2Config pvt_v2_b1() { return {}; }
PvtV2Config pvt_v2_b2() { return v2_with_depths({3, 4, 6, 3}); }
PvtV2Config pvt_v2_b3() { return v2_with_depths({3, 4, 18, 3}); }
PvtV2Config pvt_v2_b4() { return v2_with_depths({3, 8, 27, 3}); }

PvtV2Config pvt_v2_b5() {
  auto c = v2_with_depths({3, 6, 40, 3});
  c.mlp_ratios = {4, 4, 4, 4};
  return c;
}

PvtV2Config pvt_v2_c10() {
  return {.image = 32,
          .classes = 10,
          .kernels = {3, 3, 3, 3},
          .strides = {2, 2, 2, 2},
          .dims = {48, 96, 144, 192},
          .depths = {1, 2, 2, 1},
          .heads = {1, 2, 3, 4},
          .mlp_ratios = {4, 4, 4, 4},
          .sr_ratios = {4, 2, 1, 1}};
}

PvtV2::PvtV2(const PvtV2Config& c) : config(c) {
  config.validate();
  const auto grids = config.grids();
  const auto depth = std::accumulate(config.depths.begin(), config.depths.end(), int64_t{0});
  int64_t block = 0;
  for (size_t i = 0; i < grids.size(); ++i) {
    const auto number = std::to_string(i + 1);
    const auto dim = config.dims[i];
    Stage stage{.grid = grids[i]};
    stage.patch_embed = register_module("patch_embed" + number, ConvEmbed(config.embed(i)));
    stage.blocks = register_module("block" + number, BlockList());
    for (int64_t j = 0; j < config.depths[i]; ++j)
      stage.blocks->push_back(std::make_shared<PvtV2Block>(
          PreNormBlockConfig{.dim = dim,
                             .drop_path = drop_path_of(config.drop_path, block++, depth)},
          ReducedAttention(ReducedAttentionConfig{.dim = dim,
                                                  .heads = config.heads[i],
                                                  .reduction = config.sr_ratios[i],
                                                  .grid = grids[i],
                                                  .dropout = config.dropout,
                                                  .attention_dropout = config.attention_dropout}),
          ConvFeedForward(ConvFeedForwardConfig{.dim = dim,
                                                .hidden = config.mlp_ratios[i] * dim,
                                                .grid = grids[i],
                                                .dropout = config.dropout})));
    stage.norm = register_module(
        "norm" + number, torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}).eps(1e-6)));
    stages.push_back(std::move(stage));
  }
  head = register_module("head", Linear(config.dims.back(), config.classes));
  initialize_transformer(*this);
}

torch::Tensor PvtV2::features(const torch::Tensor& x) {
  auto map = x.contiguous(torch::MemoryFormat::ChannelsLast);
  torch::Tensor tokens;
  for (auto& [grid, patch_embed, blocks, norm] : stages) {
    tokens = blocks->forward(patch_embed(map), recompute_blocks);
    tokens = layer_norm(tokens, norm);   // (B, T, C)
    map = as_feature_map(tokens, grid);  // (B, C, rows, columns)
  }
  return read_mean(tokens);  // (B, C)
}

torch::Tensor PvtV2::logits(const torch::Tensor& features) { return head(features); }

void PvtV2::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  config.classes = classes;
}

BlockListImpl::Blocks PvtV2::blocks_in_order() const {
  BlockListImpl::Blocks all;
  for (const auto& stage : stages)
    all.insert(all.end(), stage.blocks->begin(), stage.blocks->end());
  return all;
}

torch::Tensor PvtV2::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> PvtV2::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<ImageTokens> PvtV2::image_tokens() const {
  const auto& grid = stages.front().grid;
  return ImageTokens{grid.rows, grid.columns, config.kernels[0], config.strides[0]};
}

torch::Tensor PvtV2::input_filters() const { return stages.front().patch_embed->proj->weight; }

}  // namespace vitrine
