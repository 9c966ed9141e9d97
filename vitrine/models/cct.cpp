#include "vitrine/models/cct.h"

#include "vitrine/core/checks.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/readout.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {
namespace {

constexpr int64_t kPoolKernel = 3, kPoolStride = 2;  // of the tokenizer's max pooling

}  // namespace

void CctConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("convolutions", convolutions,
    "convolutions of the tokenizer; each divides the side by 2 * stride");
  f("kernel", kernel, "side of the convolutions' kernels");
  f("stride", stride, "stride of the convolutions, before the pooling behind each");
  f("stem_channels", stem_channels, "channels after all convolutions but the last");
  f("dim", dim, "embedding dimension");
  f("depth", depth, "blocks");
  f("heads", heads, "attention heads; must divide dim");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("positions", positions, positional_encoding_names(), "positional encoding");
  f("norm_stream", norm_stream,
    "the second LayerNorm of a block acts on the residual stream, as in the authors' code; else "
    "blocks are the usual pre-norm ones");
  f("dropout", dropout,
    "dropout after the positional encoding, the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path, "stochastic depth of the last block, growing linearly from 0");
}

void CctConfig::validate() const {
  check(image > 0 && channels > 0 && classes > 0 && convolutions > 0 && depth > 0,
        "cct: image {}, channels {}, classes {}, convolutions {} and depth {} must be positive",
        image, channels, classes, convolutions, depth);
  check(stem_channels > 0 && hidden > 0 && stride > 0,
        "cct: stem_channels {}, hidden {} and stride {} must be positive", stem_channels, hidden,
        stride);
  check(kernel > 0 && kernel % 2 == 1, "cct: kernel {} is even; choose an odd one", kernel);
  check(positions != PositionalEncoding::Relative,
        "cct: relative positions are for sequences; choose one of the others");
  check_fraction("cct", "dropout", dropout);
  check_fraction("cct", "attention_dropout", attention_dropout);
  check_fraction("cct", "drop_path", drop_path);
  check(heads > 0 && dim % heads == 0,
        "cct: dim {} is not a multiple of heads {}; choose heads that divide the width", dim,
        heads);
}

int64_t CctConfig::side() const {
  int64_t s = image;
  for (int64_t i = 0; i < convolutions; ++i) s = ((s - 1) / stride) / kPoolStride + 1;
  return s;
}

CctConfig cct_2_3x2() { return {}; }

CctConfig cct_4_3x2() { return {.depth = 4}; }

CctConfig cct_6_3x1() {
  return {.convolutions = 1, .dim = 256, .depth = 6, .heads = 4, .hidden = 512};
}

CctConfig cct_7_3x1() {
  auto c = cct_6_3x1();
  c.depth = 7;
  return c;
}

CctConfig cct_14_7x2() {
  return {.image = 224,
          .classes = 1000,
          .kernel = 7,
          .stride = 2,
          .dim = 384,
          .depth = 14,
          .heads = 6,
          .hidden = 1152};
}

ConvTokenizerImpl::ConvTokenizerImpl(const CctConfig& c) {
  convs = register_module("convs", torch::nn::ModuleList());
  for (int64_t i = 0, in = c.channels; i < c.convolutions; ++i) {
    const auto out = i + 1 < c.convolutions ? c.stem_channels : c.dim;
    convs->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, c.kernel)
                                           .stride(c.stride)
                                           .padding(c.kernel / 2)
                                           .bias(false)));
    in = out;
  }
}

torch::Tensor ConvTokenizerImpl::forward(const torch::Tensor& x) {
  auto map = x.contiguous(torch::MemoryFormat::ChannelsLast);
  for (const auto& layer : *convs) {
    auto* conv = layer->as<torch::nn::Conv2d>();
    TORCH_INTERNAL_ASSERT(conv != nullptr);
    map = conv->forward(map);
    // Pooling first: the same result as after the ReLU, on a quarter of the numbers.
    map = torch::relu(torch::max_pool2d(map, kPoolKernel, kPoolStride, /*padding=*/1));
  }
  return map.permute({0, 2, 3, 1}).flatten(1, 2);  // (B, T, C)
}

Cct::Cct(const CctConfig& c) : config(c) {
  config.validate();
  tokenizer = register_module("tokenizer", ConvTokenizer(config));
  positions = PositionEmbedding(*this, {.kind = config.positions,
                                        .rows = config.side(),
                                        .columns = config.side(),
                                        .prefix = 0,
                                        .dim = config.dim});
  const EncoderBlockConfig block = {.dim = config.dim,
                                    .heads = config.heads,
                                    .hidden = config.hidden,
                                    .norm_stream = config.norm_stream,
                                    .qkv_bias = false,
                                    .norm_eps = 1e-5,
                                    .dropout = config.dropout,
                                    .attention_dropout = config.attention_dropout,
                                    .drop_path = config.drop_path,
                                    .grid = {config.side(), config.side()}};
  blocks = register_module("blocks", encoder_blocks(block, config.depth));
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.dim})));
  pool = register_module("pool", Linear(config.dim, 1));
  head = register_module("head", Linear(config.dim, config.classes));
  initialize_transformer(*this);
}

torch::Tensor Cct::features(const torch::Tensor& x) {
  auto tokens = positions(tokenizer(x));  // (B, T, C)
  tokens = keyed_dropout(tokens, config.dropout, is_training());
  tokens = norm(blocks->forward(tokens, recompute_blocks));
  const auto weights = pool(tokens).softmax(1).transpose(1, 2);  // (B, 1, T)
  return read_weighted(tokens, weights);                         // (B, C)
}

torch::Tensor Cct::logits(const torch::Tensor& features) { return head(features); }

void Cct::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  config.classes = classes;
}

torch::Tensor Cct::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> Cct::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

torch::Tensor Cct::input_filters() const {
  return tokenizer->convs->ptr(0)->as<torch::nn::Conv2d>()->weight;
}

std::optional<ImageTokens> Cct::image_tokens() const {
  ImageTokens tokens{config.side(), config.side(), /*field=*/1, /*stride=*/1};
  for (int64_t i = 0; i < config.convolutions; ++i) {
    tokens.field += (config.kernel - 1 + (kPoolKernel - 1) * config.stride) * tokens.stride;
    tokens.stride *= config.stride * kPoolStride;
  }
  return tokens;
}

}  // namespace vitrine
