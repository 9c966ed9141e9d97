#include "vitrine/nn/encoder_block.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/instruction_sets.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/activation.h"

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

class PackedBlocks : public test::EveryInstructionSet {
 protected:
  ~PackedBlocks() override { at::set_num_threads(threads_); }
  void pack(EncoderBlock& block, Precision precision) {
    for (auto* layer : {&block->attn->qkv, &block->attn->proj, &block->mlp->fc1, &block->mlp->fc2})
      (*layer)->pack(precision);
  }

 private:
  const int threads_ = at::get_num_threads();
};

TEST_P(PackedBlocks, GiveWhatTheirLayersGiveForAnyNumberOfSequences) {
  const torch::NoGradGuard no_grad;
  for (const auto& [activation, norm_stream] :
       {std::pair(Activation::Gelu, false), std::pair(Activation::Relu, true)}) {
    torch::manual_seed(3);
    EncoderBlock block(EncoderBlockConfig{
        .dim = 24, .heads = 3, .hidden = 40, .activation = activation, .norm_stream = norm_stream});
    block->eval();
    std::vector<std::pair<torch::Tensor, torch::Tensor>> expected;
    for (const int64_t B : {1, 2, 3, 5})
      for (const int64_t T : {1, 7, 65, 211, 450}) {
        const auto x = torch::randn({B, T, 24});
        expected.emplace_back(x, block(x));
      }
    pack(block, Precision::Float32);
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      for (const auto& [x, y] : expected)
        EXPECT_TRUE(torch::allclose(block(x), y, 1e-4, 1e-5)) << x.sizes() << threads;
    }
  }
}

TEST_P(PackedBlocks, RefuseRowsThatDoNotFit) {
  const torch::NoGradGuard no_grad;
  EncoderBlock block(EncoderBlockConfig{.dim = 24, .heads = 3, .hidden = 40});
  block->eval();
  pack(block, Precision::Float32);
  const auto error = test::error_of([&] { block(torch::randn({1, 65, 12})); });
  EXPECT_TRUE(
      test::contains(error, "qkv makes 72 numbers of 24 with a bias of 72, expected 36 of 12"))
      << error;
}

TEST_P(PackedBlocks, InLowerPrecisionGiveWhatTheirLayersGive) {
  const torch::NoGradGuard no_grad;
  for (const auto precision : {Precision::BFloat16, Precision::Int8}) {
    torch::manual_seed(4);
    EncoderBlock block(EncoderBlockConfig{.dim = 64, .heads = 2, .hidden = 96});
    block->eval();
    pack(block, precision);
    for (const int64_t B : {1, 4}) {
      const auto x = torch::randn({B, 97, 64});
      const auto y = block(x);
      const AttentionCapture one_by_one;  // whoever looks inside gets the layers themselves
      EXPECT_TRUE(torch::allclose(y, block(x), 0, 0.02)) << precision_name(precision);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PackedBlocks, test::instruction_sets());

TEST(EncoderBlock, TakesAnEmptyBatch) {
  EncoderBlock block(EncoderBlockConfig{.dim = 64, .heads = 4, .hidden = 80});
  EXPECT_EQ(block(torch::empty({0, 65, 64})).sizes(), (torch::IntArrayRef{0, 65, 64}));
  const torch::NoGradGuard no_grad;
  block->eval();
  for (auto* layer : {&block->attn->qkv, &block->attn->proj, &block->mlp->fc1, &block->mlp->fc2})
    (*layer)->pack(Precision::Float32);
  EXPECT_EQ(block(torch::empty({0, 65, 64})).sizes(), (torch::IntArrayRef{0, 65, 64}));
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
