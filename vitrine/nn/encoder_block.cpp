#include "vitrine/nn/encoder_block.h"

#include "vitrine/nn/feature_capture.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {

const Choices<NormPosition>& norm_position_names() {
  static const Choices<NormPosition> names = {{"pre", NormPosition::Pre},
                                              {"post", NormPosition::Post}};
  return names;
}

EncoderBlockImpl::EncoderBlockImpl(const EncoderBlockConfig& c) : config(c) {
  const auto norm_options = torch::nn::LayerNormOptions({config.dim}).eps(config.norm_eps);
  norm1 = register_module("norm1", torch::nn::LayerNorm(norm_options));
  const AttentionConfig attention = {.dim = config.dim,
                                     .heads = config.heads,
                                     .qkv_bias = config.qkv_bias,
                                     .dropout = config.dropout,
                                     .attention_dropout = config.attention_dropout,
                                     .causal = config.causal,
                                     .max_relative_distance = config.max_relative_distance,
                                     .grid = config.grid};
  attn = register_module("attn", make_efficient_attention(attention, config.attention));
  norm2 = register_module("norm2", torch::nn::LayerNorm(norm_options));
  mlp = register_module("mlp", FeedForward(FeedForwardConfig{
                                   .dim = config.dim,
                                   .hidden = config.hidden,
                                   .activation = config.activation,
                                   .dropout = config.dropout,
                               }));
  if (config.layer_scale == 0) return;
  ls1 = register_module("ls1", LayerScale(config.dim, config.layer_scale));
  ls2 = register_module("ls2", LayerScale(config.dim, config.layer_scale));
}

template <typename Attend>
torch::Tensor EncoderBlockImpl::around(const torch::Tensor& x, const Attend& attend) {
  const auto drop = [&](const torch::Tensor& branch, LayerScale& scale) {
    return drop_path(scale ? scale(branch) : branch, config.drop_path, is_training());
  };
  if (config.norm == NormPosition::Post) {
    const auto h = layer_norm(x + drop(attend(x), ls1), norm1);
    return layer_norm(h + drop(mlp(h), ls2), norm2);
  }
  const auto h = x + drop(attend(layer_norm(x, norm1)), ls1);
  const auto normalised = layer_norm(h, norm2);
  return (config.norm_stream ? normalised : h) + drop(mlp(normalised), ls2);
}

torch::Tensor EncoderBlockImpl::forward(const torch::Tensor& x) {
  return around(x, [&](const torch::Tensor& tokens) {
    FeatureCapture::note(tokens);
    return attn(tokens);
  });
}

std::unique_ptr<BlockCache> EncoderBlockImpl::make_cache(int64_t batch) const {
  return attn->make_cache(batch);
}

torch::Tensor EncoderBlockImpl::step(const torch::Tensor& x, BlockCache& cache) {
  return around(x, [&](const torch::Tensor& token) { return attn->step(token, cache); });
}

BlockList encoder_blocks(const EncoderBlockConfig& config, int64_t depth) {
  BlockList blocks;
  for (int64_t i = 0; i < depth; ++i) {
    auto c = config;
    c.drop_path = drop_path_of(config.drop_path, i, depth);
    blocks->push_back(std::make_shared<EncoderBlockImpl>(c));
  }
  return blocks;
}

}  // namespace vitrine
