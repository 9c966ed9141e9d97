#include "vitrine/models/pvt.h"

#include <numeric>

#include "vitrine/core/checks.h"
#include "vitrine/nn/feed_forward.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/pre_norm_block.h"
#include "vitrine/nn/readout.h"
#include "vitrine/nn/reduced_attention.h"

namespace vitrine {
namespace {

using PvtBlock = PreNormBlockImpl<ReducedAttention, FeedForward>;

PvtConfig with_depths(std::vector<int64_t> depths) {
  PvtConfig c;
  c.depths = std::move(depths);
  return c;
}

}  // namespace

void PvtConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("patches", patches, "per stage: side of a patch in pixels, then in tokens of the stage before");
  f("dims", dims, "per stage: embedding dimension");
  f("depths", depths, "per stage: blocks");
  f("heads", heads, "per stage: attention heads; must divide dims");
  f("mlp_ratios", mlp_ratios,
    "per stage: hidden size of the feed-forward network (MLP), in multiples of dims");
  f("sr_ratios", sr_ratios,
    "per stage: side of the square of tokens that is reduced to one key and value; 1 in the last");
  f("dropout", dropout,
    "dropout after the positional encoding, the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path, "stochastic depth of the last block, growing linearly from 0");
}

void PvtConfig::validate() const {
  check(image > 0 && channels > 0 && classes > 0,
        "pvt: image {}, channels {} and classes {} must be positive", image, channels, classes);
  check_stages("pvt", {{"dims", dims},
                       {"patches", patches},
                       {"depths", depths},
                       {"heads", heads},
                       {"mlp_ratios", mlp_ratios},
                       {"sr_ratios", sr_ratios}});
  int64_t side = image;
  for (size_t i = 0; i < dims.size(); ++i) {
    check(dims[i] % heads[i] == 0,
          "pvt: stage {}: dim {} is not a multiple of heads {}; choose heads that divide the width",
          i + 1, dims[i], heads[i]);
    check(side % patches[i] == 0,
          "pvt: stage {}: patch {} does not divide a side of {}; choose another image or patches",
          i + 1, patches[i], side);
    side /= patches[i];
    check(sr_ratios[i] <= side, "pvt: stage {}: sr_ratio {} is more than the {} tokens of a side",
          i + 1, sr_ratios[i], side);
  }
  check(sr_ratios.back() == 1,
        "pvt: the last sr_ratio is {}; it must be 1, as the class token cannot be reduced",
        sr_ratios.back());
  check_fraction("pvt", "dropout", dropout);
  check_fraction("pvt", "attention_dropout", attention_dropout);
  check_fraction("pvt", "drop_path", drop_path);
}

std::vector<TokenGrid> PvtConfig::grids() const {
  std::vector<TokenGrid> result;
  int64_t side = image;
  for (const auto patch : patches) {
    side /= patch;
    result.push_back({.rows = side, .columns = side});
  }
  result.back().prefix = 1;  // the class token
  return result;
}

PvtConfig pvt_tiny() { return {}; }
PvtConfig pvt_small() { return with_depths({3, 4, 6, 3}); }
PvtConfig pvt_medium() { return with_depths({3, 4, 18, 3}); }
PvtConfig pvt_large() { return with_depths({3, 8, 27, 3}); }

PvtConfig pvt_c10() {
  return {.image = 32,
          .classes = 10,
          .patches = {2, 2, 2, 2},
          .dims = {48, 96, 144, 192},
          .depths = {1, 2, 3, 1},
          .heads = {1, 2, 3, 4},
          .mlp_ratios = {4, 4, 4, 4},
          .sr_ratios = {4, 2, 1, 1}};
}

Pvt::Pvt(const PvtConfig& c) : config(c) {
  config.validate();
  const auto grids = config.grids();
  const auto depth = std::accumulate(config.depths.begin(), config.depths.end(), int64_t{0});
  int64_t in = config.channels, block = 0;
  for (size_t i = 0; i < grids.size(); ++i) {
    const auto number = std::to_string(i + 1);
    const auto dim = config.dims[i];
    Stage stage{.grid = grids[i]};
    stage.patch_embed = register_module(
        "patch_embed" + number,
        ConvEmbed(ConvEmbedConfig{
            .channels = in, .dim = dim, .kernel = config.patches[i], .stride = config.patches[i]}));
    stage.pos_embed =
        register_parameter("pos_embed" + number, torch::randn({1, grids[i].tokens(), dim}) * 0.02);
    stage.blocks = register_module("block" + number, BlockList());
    for (int64_t j = 0; j < config.depths[i]; ++j)
      stage.blocks->push_back(std::make_shared<PvtBlock>(
          PreNormBlockConfig{.dim = dim,
                             .drop_path = drop_path_of(config.drop_path, block++, depth)},
          ReducedAttention(ReducedAttentionConfig{.dim = dim,
                                                  .heads = config.heads[i],
                                                  .reduction = config.sr_ratios[i],
                                                  .grid = grids[i],
                                                  .dropout = config.dropout,
                                                  .attention_dropout = config.attention_dropout}),
          FeedForward(FeedForwardConfig{
              .dim = dim, .hidden = config.mlp_ratios[i] * dim, .dropout = config.dropout})));
    stages.push_back(std::move(stage));
    in = dim;
  }
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({in}).eps(1e-6)));
  cls_token = register_parameter("cls_token", torch::randn({1, 1, in}) * 0.02);
  head = register_module("head", Linear(in, config.classes));
  initialize_transformer(*this);
}

torch::Tensor Pvt::features(const torch::Tensor& x) {
  auto map = x.contiguous(torch::MemoryFormat::ChannelsLast);
  torch::Tensor tokens;
  for (auto& [grid, patch_embed, pos_embed, blocks] : stages) {
    tokens = patch_embed(map);  // (B, T, C)
    const bool last = grid.prefix > 0;
    if (last) tokens = torch::cat({cls_token.expand({x.size(0), 1, cls_token.size(2)}), tokens}, 1);
    tokens = keyed_dropout(tokens + pos_embed, config.dropout, is_training());
    tokens = blocks->forward(tokens, recompute_blocks);
    if (!last) map = as_feature_map(tokens, grid);  // (B, C, rows, columns)
  }
  return layer_norm(read_token(tokens), norm);  // (B, C)
}

torch::Tensor Pvt::logits(const torch::Tensor& features) { return head(features); }

void Pvt::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  config.classes = classes;
}

BlockListImpl::Blocks Pvt::blocks_in_order() const {
  BlockListImpl::Blocks all;
  for (const auto& stage : stages)
    all.insert(all.end(), stage.blocks->begin(), stage.blocks->end());
  return all;
}

torch::Tensor Pvt::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> Pvt::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<ImageTokens> Pvt::image_tokens() const {
  const auto& grid = stages.front().grid;
  return ImageTokens{grid.rows, grid.columns, config.patches[0], config.patches[0]};
}

std::vector<torch::Tensor> Pvt::position_tables() const {
  std::vector<torch::Tensor> tables;
  for (const auto& stage : stages) tables.push_back(stage.pos_embed);
  return tables;
}

torch::Tensor Pvt::input_filters() const { return stages.front().patch_embed->proj->weight; }

}  // namespace vitrine
