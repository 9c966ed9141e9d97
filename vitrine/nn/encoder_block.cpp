#include "vitrine/nn/encoder_block.h"

#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/feature_capture.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/ops/training/encoder_block.h"

namespace vitrine {

const Choices<NormPosition>& norm_position_names() {
  static const Choices<NormPosition> names = {{"pre", NormPosition::Pre},
                                              {"post", NormPosition::Post}};
  return names;
}

namespace {

/// Whether somebody wants to see what lies between the layers.
bool looked_into() { return AttentionCapture::current() || FeatureCapture::wanted(); }

}  // namespace

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

EncoderBlockWeights EncoderBlockImpl::training_weights() const {
  return {.gamma1 = norm1->weight,
          .beta1 = norm1->bias,
          .qkv_weight = attn->qkv->weight,
          .qkv_bias = attn->qkv->bias,
          .proj_weight = attn->proj->weight,
          .proj_bias = attn->proj->bias,
          .gamma2 = norm2->weight,
          .beta2 = norm2->bias,
          .mlp = {mlp->fc1->weight, mlp->fc1->bias, mlp->fc2->weight, mlp->fc2->bias}};
}

EncoderBlockSettings EncoderBlockImpl::training_settings() const {
  const bool training = is_training();
  return {.heads = config.heads,
          .activation = config.activation,
          .norm_eps = config.norm_eps,
          .norm_stream = config.norm_stream,
          .dropout = training ? config.dropout : 0,
          .attention_dropout = training ? config.attention_dropout : 0,
          .drop_path = training ? config.drop_path : 0};
}

bool EncoderBlockImpl::is_usual() const {
  const auto& c = config;
  return c.norm == NormPosition::Pre && c.layer_scale == 0 && !c.causal &&
         c.max_relative_distance == 0 && c.attention.kind == AttentionKind::Softmax;
}

std::optional<Precision> EncoderBlockImpl::learns_as_one(const torch::Tensor& x) const {
  if (!is_usual() || attn->qkv->packed() || looked_into() || x.numel() == 0) return std::nullopt;
  const auto precision = learning_precision(x, attn->qkv->weight);
  const bool suits = precision && training_weights().all_learn() &&
                     suits_one_operation(x.sizes(), config.hidden, training_settings(), *precision);
  return suits ? precision : std::nullopt;
}

bool EncoderBlockImpl::is_packed() const {
  return attn->qkv->packed() && attn->proj->packed() && mlp->fc1->packed() && mlp->fc2->packed();
}

PackedBlock EncoderBlockImpl::packed() const {
  return {.gamma1 = norm1->weight,
          .beta1 = norm1->bias,
          .qkv = attn->qkv->packed(),
          .proj = attn->proj->packed(),
          .qkv_bias = attn->qkv->bias,
          .proj_bias = attn->proj->bias,
          .gamma2 = norm2->weight,
          .beta2 = norm2->bias,
          .fc1 = mlp->fc1->packed(),
          .fc2 = mlp->fc2->packed(),
          .bias1 = mlp->fc1->bias,
          .bias2 = mlp->fc2->bias,
          .heads = config.heads,
          .hidden = config.hidden,
          .activation = config.activation,
          .norm_eps = config.norm_eps,
          .norm_stream = config.norm_stream};
}

bool EncoderBlockImpl::runs_as_one(const torch::Tensor& x) const {
  return is_usual() && is_packed() && !looked_into() && !is_training() &&
         !torch::GradMode::is_enabled() && has_cpu_kernel(x) && x.scalar_type() == torch::kFloat &&
         x.numel() > 0;
}

torch::Tensor EncoderBlockImpl::forward(const torch::Tensor& x) {
  if (runs_as_one(x)) return packed_block(x, packed());
  if (const auto precision = learns_as_one(x))
    return training_encoder_block(x.to(torch::kFloat), training_weights(), training_settings(),
                                  *precision);
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
