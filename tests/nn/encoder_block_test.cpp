#include "vitrine/nn/encoder_block.h"
#include "vitrine/ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace vitrine {
namespace {

/// Torch's own encoder layer with our weights.
torch::nn::TransformerEncoderLayer torch_layer(EncoderBlock& block) {
  const auto& c = block->config;
  torch::nn::TransformerEncoderLayer layer(torch::nn::TransformerEncoderLayerOptions(c.dim, c.heads)
                                               .dim_feedforward(c.hidden)
                                               .dropout(0)
                                               .activation(torch::kReLU));
  const torch::NoGradGuard no_grad;
  layer->self_attn->in_proj_weight.copy_(block->attn->qkv->weight);
  layer->self_attn->in_proj_bias.copy_(block->attn->qkv->bias);
  layer->self_attn->out_proj->weight.copy_(block->attn->proj->weight);
  layer->self_attn->out_proj->bias.copy_(block->attn->proj->bias);
  layer->linear1->weight.copy_(block->mlp->fc1->weight);
  layer->linear1->bias.copy_(block->mlp->fc1->bias);
  layer->linear2->weight.copy_(block->mlp->fc2->weight);
  layer->linear2->bias.copy_(block->mlp->fc2->bias);
  return layer;
}

}  // namespace

TEST(EncoderBlock, LayerScaleMultipliesEachSublayer) {
  const EncoderBlockConfig config{.dim = 12, .heads = 2, .hidden = 20};
  auto scaled_config = config;
  scaled_config.layer_scale = 0.5;
  EncoderBlock scaled(scaled_config);
  const torch::NoGradGuard no_grad;
  scaled->ls1->gamma.copy_(torch::arange(12) * 0.1);
  const auto x = torch::randn({2, 5, 12});
  const auto h = x + scaled->ls1->gamma * scaled->attn(scaled->norm1(x));
  EXPECT_TRUE(torch::allclose(scaled(x), h + 0.5 * scaled->mlp(scaled->norm2(h)), 1e-5, 1e-5));
  EXPECT_EQ(EncoderBlock(config)->parameters().size() + 2, scaled->parameters().size());
}

TEST(Activation, GeluTanhIsItsFormula) {
  const auto x = torch::linspace(-4, 4, 101);
  const auto inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x.pow(3));
  EXPECT_TRUE(
      torch::allclose(activate(x, Activation::GeluTanh), 0.5 * x * (1 + inner.tanh()), 1e-5, 1e-6));
}

TEST(EncoderBlock, PostNormWithReluEqualsTorchsEncoderLayer) {
  torch::manual_seed(1);
  EncoderBlock block(EncoderBlockConfig{.dim = 12,
                                        .heads = 2,
                                        .hidden = 20,
                                        .activation = Activation::Relu,
                                        .norm = NormPosition::Post,
                                        .norm_eps = 1e-5});
  const auto x = torch::randn({2, 5, 12});
  const auto expected = torch_layer(block)->forward(x.transpose(0, 1)).transpose(0, 1);
  EXPECT_TRUE(torch::allclose(block(x), expected, 1e-5, 1e-5));
}

TEST(EncoderBlock, PreNormIsTheFormula) {
  EncoderBlock b(EncoderBlockConfig{.dim = 12, .heads = 2, .hidden = 20});
  const auto x = torch::randn({2, 5, 12});
  const auto mixed = x + b->attn(b->norm1(x));
  EXPECT_TRUE(torch::allclose(b(x), mixed + b->mlp(b->norm2(mixed)), 1e-5, 1e-6));
}

TEST(EncoderBlock, StochasticDepthGrowsLinearly) {
  const auto blocks = encoder_blocks({.dim = 4, .heads = 1, .hidden = 4, .drop_path = 0.3}, 4);
  std::vector<double> rates;
  for (const auto& b : *blocks) rates.push_back(b->as<EncoderBlock>()->config.drop_path);
  EXPECT_EQ(rates.front(), 0);
  EXPECT_DOUBLE_EQ(rates[1], 0.1);
  EXPECT_DOUBLE_EQ(rates.back(), 0.3);
}

}  // namespace vitrine
