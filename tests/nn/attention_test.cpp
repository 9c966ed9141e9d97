#include "vitrine/nn/attention.h"

#include "tests/support/errors.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {

TEST(Attention, EqualsTorchsMultiheadAttention) {
  torch::manual_seed(1);
  Attention ours(AttentionConfig{.dim = 24, .heads = 3});
  torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(24, 3));
  const torch::NoGradGuard no_grad;
  theirs->in_proj_weight.copy_(ours->qkv->weight);
  theirs->in_proj_bias.copy_(ours->qkv->bias);
  theirs->out_proj->weight.copy_(ours->proj->weight);
  theirs->out_proj->bias.copy_(ours->proj->bias);
  const auto x = torch::randn({2, 7, 24});
  const auto t = x.transpose(0, 1);
  const auto expected = std::get<0>(theirs->forward(t, t, t)).transpose(0, 1);
  EXPECT_TRUE(torch::allclose(ours(x), expected, 1e-5, 1e-6));
}

TEST(Attention, RefusesHeadsThatDoNotDivideTheWidth) {
  const auto message = test::error_of([] { Attention(AttentionConfig{.dim = 65, .heads = 4}); });
  EXPECT_TRUE(test::contains(message, "attention: dim 65 is not a multiple of heads 4"));
}

TEST(AttentionCapture, CollectsWeightsOnlyWhileItLives) {
  Attention layer(AttentionConfig{.dim = 8, .heads = 2});
  layer->eval();
  const auto x = torch::randn({1, 5, 8});
  const auto plain = layer(x);
  {
    AttentionCapture capture;
    EXPECT_TRUE(layer(x).equal(plain));
    ASSERT_EQ(capture.layers.size(), 1u);
    EXPECT_EQ(capture.layers[0].sizes(), (std::vector<int64_t>{1, 2, 5, 5}));
    AttentionCapture inner;
    layer(x);
    EXPECT_EQ(capture.layers.size(), 1u);
    EXPECT_EQ(inner.layers.size(), 1u);
  }
  EXPECT_EQ(AttentionCapture::current(), nullptr);
}

}  // namespace vitrine
