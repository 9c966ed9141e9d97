#include "vitrine/nn/efficient_attention.h"

#include "tests/support/errors.h"
#include "vitrine/nn/attention.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/encoder_block.h"

namespace vitrine {
namespace {

EncoderBlockConfig block_of(AttentionKind kind) {
  return {.dim = 12,
          .heads = 3,
          .hidden = 16,
          .attention = {.kind = kind, .length = 4, .features = 8, .bucket = 4, .rounds = 2},
          .grid = sequence_grid(9)};
}

}  // namespace

TEST(EfficientAttention, EveryKindWorksInABlock) {
  for (const auto& [name, kind] : attention_kind_names()) {
    torch::manual_seed(1);
    EncoderBlock block(block_of(kind));
    const auto x = torch::randn({2, 9, 12});
    const auto y = block(x);
    EXPECT_EQ(y.sizes(), x.sizes()) << name;
    y.square().sum().backward();
    for (const auto& item : block->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << name << " " << item.key();
      EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << name << " " << item.key();
      EXPECT_GT(item.value().grad().abs().sum().item<double>(), 0) << name << " " << item.key();
    }
    EXPECT_TRUE(block->named_parameters().contains("attn.qkv.weight")) << name;
    EXPECT_TRUE(block->named_parameters().contains("attn.proj.weight")) << name;
  }
}

TEST(EfficientAttention, SoftmaxIsTheDefaultAndTheLayerItWas) {
  torch::manual_seed(1);
  EncoderBlock block(EncoderBlockConfig{.dim = 12, .heads = 3, .hidden = 16});
  torch::manual_seed(1);
  Attention alone(AttentionConfig{.dim = 12, .heads = 3});
  const auto x = torch::randn({2, 9, 12});
  EXPECT_TRUE(block->attn(x).equal(alone(x)));
  EXPECT_EQ(block->attn->named_parameters().keys(), alone->named_parameters().keys());
  EXPECT_EQ(block->attn->buffers().size(), 0u);
}

TEST(EfficientAttention, OnlySoftmaxHasWeightsToCapture) {
  for (const auto& [name, kind] : attention_kind_names()) {
    EncoderBlock block(block_of(kind));
    const auto x = torch::randn({2, 9, 12});
    AttentionCapture capture;
    if (kind == AttentionKind::Softmax) {
      block(x);
      EXPECT_EQ(capture.layers.size(), 1u);
    } else {
      EXPECT_TRUE(test::contains(test::error_of([&] { block(x); }),
                                 name + ": it never holds the weights of all pairs"));
    }
  }
}

TEST(EfficientAttention, OnlySoftmaxAndPerformerCanBeCausal) {
  for (const auto& [name, kind] : attention_kind_names()) {
    auto config = block_of(kind);
    config.causal = true;
    if (kind == AttentionKind::Softmax || kind == AttentionKind::Performer)
      EXPECT_NO_THROW(EncoderBlock{config}) << name;
    else
      EXPECT_TRUE(test::contains(test::error_of([&] { EncoderBlock block(config); }),
                                 "choose attention.kind softmax or performer"));
  }
}

TEST(EfficientAttention, DropsWeightsOnlyInTraining) {
  for (const auto kind : {AttentionKind::Linformer, AttentionKind::Reformer}) {
    auto config = block_of(kind);
    config.attention_dropout = 0.5;
    EncoderBlock block(config);
    const auto x = torch::randn({2, 9, 12});
    EXPECT_FALSE(block(x).equal(block(x)));
    block->eval();
    EXPECT_TRUE(block(x).equal(block(x)));
  }
}

}  // namespace vitrine
