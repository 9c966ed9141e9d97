#include "vitrine/models/igpt.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/nn/feature_capture.h"
#include "vitrine/nn/readout.h"

namespace vitrine {
namespace {

/// (count, 3): the corners of a regular grid in the cube of colours, from -1 to 1.
torch::Tensor grid_colors(int64_t count) {
  int64_t levels = 2;
  while (levels * levels * levels < count) ++levels;
  const auto step = static_cast<double>(levels);
  const auto number = torch::arange(count, torch::kFloat);
  const auto row = (number / step).floor(), plane = (row / step).floor();
  const auto digits = torch::stack({plane, row - step * plane, number - step * row}, 1);
  return digits * (2 / (step - 1)) - 1;
}

}  // namespace

void IgptConfig::visit(Fields& f) {
  f("image", image, "side of the images in pixels");
  f("colors", colors, "colours of the palette (vocabulary size)");
  f("dim", dim, "embedding dimension");
  f("heads", heads, "attention heads; must divide dim");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("layers", layers, "blocks");
  f("classes", classes, "0 = predicts the next colour; else an image classifier");
  f("feature_layer", feature_layer,
    "a classifier reads the mean of the tokens behind this many blocks; 0 = half of them");
}

void IgptConfig::validate() const {
  check(image > 0 && dim > 0 && hidden > 0 && layers > 0,
        "igpt: image {}, dim {}, hidden {} and layers {} must be positive", image, dim, hidden,
        layers);
  check(colors >= 2, "igpt: colors {} is less than 2", colors);
  check(heads > 0 && dim % heads == 0,
        "igpt: dim {} is not a multiple of heads {}; choose heads that divide it", dim, heads);
  check(classes >= 0, "igpt: classes {} is negative", classes);
  check(feature_layer >= 0 && feature_layer <= layers,
        "igpt: feature_layer {} is not between 0 and layers {}", feature_layer, layers);
}

IgptConfig igpt_s() { return {}; }

IgptConfig igpt_m() { return {.dim = 1024, .heads = 8, .hidden = 4096, .layers = 36}; }

IgptConfig igpt_l() { return {.dim = 1536, .heads = 16, .hidden = 6144, .layers = 48}; }

IgptConfig igpt_c10() { return {.image = 16, .dim = 128, .heads = 4, .hidden = 512, .layers = 4}; }

IgptBlockImpl::IgptBlockImpl(const IgptConfig& c) {
  norm1 = register_module("norm1", RmsNorm(c.dim));
  attn = register_module("attn", Attention(AttentionConfig{.dim = c.dim,
                                                           .heads = c.heads,
                                                           .qkv_bias = false,
                                                           .proj_bias = false,
                                                           .causal = true,
                                                           .grid = {c.image, c.image, 0}}));
  norm2 = register_module("norm2", RmsNorm(c.dim));
  mlp = register_module(
      "mlp",
      FeedForward(FeedForwardConfig{
          .dim = c.dim, .hidden = c.hidden, .activation = Activation::QuickGelu, .bias = false}));
}

template <typename Attend>
torch::Tensor IgptBlockImpl::around(const torch::Tensor& x, const Attend& attend) {
  const auto h = x + attend(norm1(x));
  return h + mlp(norm2(h));
}

torch::Tensor IgptBlockImpl::forward(const torch::Tensor& x) {
  return around(x, [&](const torch::Tensor& tokens) {
    FeatureCapture::note(tokens);
    return attn(tokens);
  });
}

std::unique_ptr<BlockCache> IgptBlockImpl::make_cache(int64_t batch) const {
  return attn->make_cache(batch);
}

torch::Tensor IgptBlockImpl::step(const torch::Tensor& x, BlockCache& cache) {
  return around(x, [&](const torch::Tensor& token) { return attn->step(token, cache); });
}

Igpt::Igpt(const IgptConfig& c) : config(c), classes_(c.classes) {
  config.validate();
  const auto C = config.dim;
  start = register_parameter("start", torch::empty({C}));
  embedding = register_module("embedding", torch::nn::Embedding(config.colors, C));
  pos_embed = register_parameter("pos_embed", torch::empty({1, config.tokens(), C}));
  blocks = register_module("blocks", BlockList());
  for (int64_t i = 0; i < config.layers; ++i)
    blocks->push_back(std::make_shared<IgptBlockImpl>(config));
  norm = register_module("norm", RmsNorm(C));
  const bool classifier = classes_ > 0;
  head = register_module(
      "head", Linear(LinearConfig{
                  .in = C, .out = classifier ? classes_ : config.colors, .bias = classifier}));
  colors = register_buffer("colors", grid_colors(config.colors));
  initialize();
}

void Igpt::initialize() {
  const torch::NoGradGuard no_grad;
  constexpr double kStd = 0.02, kPositionStd = 0.01;
  start.normal_(0, kStd);
  embedding->weight.normal_(0, kStd);
  pos_embed.normal_(0, kPositionStd);
  const double attention = 1 / std::sqrt(static_cast<double>(config.dim));
  const double residual = attention / std::sqrt(static_cast<double>(config.layers));
  for (size_t i = 0; i < blocks->size(); ++i) {
    auto& block = blocks->at<IgptBlockImpl>(i);
    block.attn->qkv->weight.normal_(0, attention);
    block.attn->proj->weight.normal_(0, residual);
    block.mlp->fc1->weight.normal_(0, kStd);
    block.mlp->fc2->weight.normal_(0, kStd);
  }
  for (auto& parameter : head->parameters()) parameter.zero_();
}

torch::Tensor Igpt::example_input(int64_t batch) const {
  if (classes_ > 0) return torch::randn({batch, 3, config.image, config.image});
  return torch::randint(config.colors, {batch, config.tokens()}, torch::kLong);
}

std::optional<ImageShape> Igpt::image_shape() const {
  if (classes_ == 0) return std::nullopt;
  return ImageShape{.channels = 3, .image = config.image, .classes = classes_};
}

std::optional<ImageLayout> Igpt::image_layout() const {
  return ImageLayout{config.image, config.image, /*channels=*/1};
}

void Igpt::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  classes_ = classes;
}

torch::Tensor Igpt::quantized(const torch::Tensor& images) const {
  const auto S = config.image;
  check(images.dim() == 4 && images.size(1) == 3 && images.size(2) == S && images.size(3) == S,
        "igpt: input {} is not (B, 3, {}, {})", fmt::join(images.sizes(), "x"), S, S);
  const auto pixels = images.flatten(2).transpose(1, 2);  // (B, T, 3)
  // The least |x - c|^2 = |x|^2 + |c|^2 - 2 x c, where all colours share |x|^2.
  const auto closeness = 2 * pixels.matmul(colors.t()) - colors.square().sum(1);  // (B, T, colors)
  return closeness.argmax(-1);
}

torch::Tensor Igpt::embed(const torch::Tensor& tokens) {
  const auto T = config.tokens(), C = config.dim, B = tokens.size(0);
  check(tokens.dim() == 2 && tokens.size(1) == T,
        "igpt: input {} is not (B, {}), the colours of images of {} x {} pixels",
        fmt::join(tokens.sizes(), "x"), T, config.image, config.image);
  const auto first = start.view({1, 1, C}).expand({B, 1, C});
  return torch::cat({first, embedding(tokens.narrow(1, 0, T - 1))}, 1) + pos_embed;  // (B, T, C)
}

torch::Tensor Igpt::pooled(const torch::Tensor& tokens) {
  const auto count = static_cast<size_t>(config.feature_blocks());
  auto& next_norm = count < blocks->size() ? blocks->at<IgptBlockImpl>(count).norm1 : norm;
  return read_mean(next_norm(blocks->forward_first(count, tokens, recompute_blocks)));
}

torch::Tensor Igpt::features(const torch::Tensor& x) {
  if (classes_ > 0) return pooled(embed(quantized(x)));      // (B, C)
  return norm(blocks->forward(embed(x), recompute_blocks));  // (B, T, C)
}

torch::Tensor Igpt::logits(const torch::Tensor& features) { return head(features); }

BlockDecoder::Parts Igpt::parts() const {
  const auto T = config.tokens();
  return {.start = start + pos_embed[0][0],  // a position belongs to the colour that is predicted
          .embedding = embedding,
          .positions = pos_embed.narrow(1, 1, T - 1),
          .blocks = blocks,
          .logits = [head = head, norm = norm](const torch::Tensor& x) mutable {
            return head(norm(x));
          }};
}

}  // namespace vitrine
