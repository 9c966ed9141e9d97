#include "vitrine/models/cvt.h"

#include <numeric>

#include "vitrine/core/checks.h"
#include "vitrine/nn/conv_attention.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/pre_norm_block.h"
#include "vitrine/nn/readout.h"

namespace vitrine {
namespace {

using CvtBlock = PreNormBlockImpl<ConvAttention, FeedForward>;

constexpr double kCvtNormEps = 1e-5;

int64_t blocks_before(const CvtConfig& c, size_t stage) {
  return std::accumulate(c.depths.begin(), c.depths.begin() + static_cast<int64_t>(stage),
                         int64_t{0});
}

/// Of a list with one number per stage, or one per block, that of a block.
template <typename T>
T of_block(const CvtConfig& c, const std::vector<T>& list, size_t stage, int64_t block) {
  return list.size() == c.depths.size()
             ? list[stage]
             : list[static_cast<size_t>(blocks_before(c, stage) + block)];
}

/// The width of the MLP of a block.
int64_t hidden_of(const CvtConfig& c, size_t stage, int64_t block) {
  return static_cast<int64_t>(static_cast<double>(c.dims[stage]) *
                              of_block(c, c.mlp_ratios, stage, block));
}

void check_stages_or_blocks(const CvtConfig& c, std::string_view name, size_t numbers) {
  const auto stages = c.depths.size(),
             blocks = static_cast<size_t>(blocks_before(c, c.depths.size()));
  check(numbers == stages || numbers == blocks,
        "cvt: {} has {} numbers; give one for each of {} stages or of {} blocks", name, numbers,
        stages, blocks);
}

}  // namespace

void CvtConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("kernels", kernels, "per stage: side of the convolution that makes the tokens");
  f("strides", strides, "per stage: stride of that convolution");
  f("paddings", paddings, "per stage: padding of that convolution");
  f("dims", dims, "per stage: embedding dimension");
  f("depths", depths, "per stage: blocks");
  f("heads", heads, "per stage: attention heads; must divide dims");
  f("mlp_ratios", mlp_ratios,
    "per stage or per block: hidden size of the feed-forward network (MLP), in multiples of dims");
  f("kv_strides", kv_strides,
    "per stage or per block: stride of the convolutions before keys and values");
  f("activation", activation, activation_names(),
    "activation function of the feed-forward network");
  f("dropout", dropout,
    "dropout after the embeddings, the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path,
    "stochastic depth of the last block, growing linearly from 0 over the last stage");
}

void CvtConfig::validate() const {
  check(image > 0 && channels > 0 && classes > 0,
        "cvt: image {}, channels {} and classes {} must be positive", image, channels, classes);
  check_stages("cvt", {{"dims", dims},
                       {"kernels", kernels},
                       {"strides", strides},
                       {"depths", depths},
                       {"heads", heads}});
  check(paddings.size() == dims.size(),
        "cvt: paddings has {} numbers and dims {}; give one for each stage", paddings.size(),
        dims.size());
  check_stages_or_blocks(*this, "mlp_ratios", mlp_ratios.size());
  check_stages_or_blocks(*this, "kv_strides", kv_strides.size());
  for (const auto stride : kv_strides)
    check(stride > 0, "cvt: kv_strides of {} must be positive", stride);
  for (size_t i = 0; i < dims.size(); ++i) {
    check(paddings[i] >= 0 && paddings[i] < kernels[i],
          "cvt: stage {}: padding {} is not between 0 and the kernel's {}", i + 1, paddings[i],
          kernels[i]);
    check(dims[i] % heads[i] == 0,
          "cvt: stage {}: dim {} is not a multiple of heads {}; choose heads that divide the width",
          i + 1, dims[i], heads[i]);
    for (int64_t block = 0; block < depths[i]; ++block)
      check(hidden_of(*this, i, block) > 0,
            "cvt: stage {}: mlp_ratio {} of dim {} leaves no hidden unit", i + 1,
            of_block(*this, mlp_ratios, i, block), dims[i]);
  }
  check(grids().back().rows > 0, "cvt: an image of {} is too small for {} stages", image,
        dims.size());
  check_fraction("cvt", "dropout", dropout);
  check_fraction("cvt", "attention_dropout", attention_dropout);
  check_fraction("cvt", "drop_path", drop_path);
}

ConvEmbedConfig CvtConfig::embed(size_t stage) const {
  return {.channels = stage == 0 ? channels : dims[stage - 1],
          .dim = dims[stage],
          .kernel = kernels[stage],
          .stride = strides[stage],
          .padding = paddings[stage],
          .norm_eps = kCvtNormEps};
}

std::vector<TokenGrid> CvtConfig::grids() const {
  std::vector<TokenGrid> result;
  int64_t side = image;
  for (size_t i = 0; i < dims.size(); ++i) {
    side = embed(i).side(side);
    result.push_back({.rows = side, .columns = side});
  }
  result.back().prefix = 1;  // the class token
  return result;
}

CvtConfig cvt_13() { return {}; }

CvtConfig cvt_21() {
  CvtConfig c;
  c.depths = {1, 4, 16};
  return c;
}

CvtConfig cvt_w24() {
  CvtConfig c;
  c.image = 384;
  c.dims = {192, 768, 1024};
  c.depths = {2, 2, 20};
  c.heads = {3, 12, 16};
  return c;
}

CvtConfig cvt_13_nas() {
  CvtConfig c;
  c.mlp_ratios = {2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 2, 2};
  c.kv_strides = {2, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2};
  return c;
}

CvtConfig cvt_c10() {
  return {.image = 32,
          .classes = 10,
          .kernels = {3, 3, 3},
          .strides = {2, 2, 2},
          .paddings = {1, 1, 1},
          .dims = {48, 96, 192},
          .depths = {1, 1, 3},
          .heads = {1, 2, 4}};
}

CvtStageImpl::CvtStageImpl(const CvtConfig& c, size_t stage)
    : grid(c.grids()[stage]), dropout_(c.dropout) {
  const auto dim = c.dims[stage], depth = c.depths[stage];
  const bool last = grid.prefix > 0;
  patch_embed = register_module("patch_embed", ConvEmbed(c.embed(stage)));
  if (last) cls_token = register_parameter("cls_token", torch::randn({1, 1, dim}) * 0.02);
  blocks = register_module("blocks", BlockList());
  for (int64_t i = 0; i < depth; ++i)
    blocks->push_back(std::make_shared<CvtBlock>(
        PreNormBlockConfig{.dim = dim,
                           .norm_eps = kCvtNormEps,
                           .drop_path = last ? drop_path_of(c.drop_path, i, depth) : 0},
        ConvAttention(ConvAttentionConfig{.dim = dim,
                                          .heads = c.heads[stage],
                                          .kv_stride = of_block(c, c.kv_strides, stage, i),
                                          .grid = grid,
                                          .dropout = c.dropout,
                                          .attention_dropout = c.attention_dropout}),
        FeedForward(FeedForwardConfig{.dim = dim,
                                      .hidden = hidden_of(c, stage, i),
                                      .activation = c.activation,
                                      .dropout = c.dropout})));
}

torch::Tensor CvtStageImpl::forward(const torch::Tensor& map, bool recompute) {
  auto tokens = patch_embed(map);  // (B, T, C)
  if (cls_token.defined())
    tokens = torch::cat({cls_token.expand({map.size(0), 1, cls_token.size(2)}), tokens}, 1);
  return blocks->forward(keyed_dropout(tokens, dropout_, is_training()), recompute);
}

Cvt::Cvt(const CvtConfig& c) : config(c) {
  config.validate();
  for (size_t i = 0; i < config.dims.size(); ++i)
    stages.push_back(register_module("stage" + std::to_string(i), CvtStage(config, i)));
  const auto dim = config.dims.back();
  norm = register_module("norm",
                         torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}).eps(kCvtNormEps)));
  head = register_module("head", Linear(dim, config.classes));
  initialize_transformer(*this);
}

torch::Tensor Cvt::features(const torch::Tensor& x) {
  auto map = x.contiguous(torch::MemoryFormat::ChannelsLast);
  torch::Tensor tokens;
  for (auto& stage : stages) {
    tokens = stage(map, recompute_blocks);  // (B, T, C)
    if (stage->grid.prefix == 0) map = as_feature_map(tokens, stage->grid);
  }
  return layer_norm(read_token(tokens), norm);  // (B, C)
}

torch::Tensor Cvt::logits(const torch::Tensor& features) { return head(features); }

void Cvt::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  config.classes = classes;
}

BlockListImpl::Blocks Cvt::blocks_in_order() const {
  BlockListImpl::Blocks all;
  for (const auto& stage : stages)
    all.insert(all.end(), stage->blocks->begin(), stage->blocks->end());
  return all;
}

torch::Tensor Cvt::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> Cvt::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<ImageTokens> Cvt::image_tokens() const {
  const auto& grid = stages.front()->grid;
  return ImageTokens{grid.rows, grid.columns, config.kernels[0], config.strides[0]};
}

torch::Tensor Cvt::input_filters() const { return stages.front()->patch_embed->proj->weight; }

}  // namespace vitrine
