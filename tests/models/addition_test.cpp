#include "vitrine/models/addition.h"

#include "tests/support/errors.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"

namespace vitrine {
namespace {

constexpr int64_t kDigits = 10;

int64_t parameters(const Model& model) {
  int64_t count = 0;
  for (const auto& p : model.parameters()) count += p.numel();
  return count;
}

/// Copies a block's weights into torch's own encoder layer.
void copy_block(const EncoderBlockImpl& from, torch::nn::TransformerEncoderLayerImpl& to) {
  const torch::NoGradGuard no_grad;
  to.self_attn->in_proj_weight.copy_(from.attn->qkv->weight);
  to.self_attn->in_proj_bias.copy_(from.attn->qkv->bias);
  to.self_attn->out_proj->weight.copy_(from.attn->proj->weight);
  to.self_attn->out_proj->bias.copy_(from.attn->proj->bias);
  to.linear1->weight.copy_(from.mlp->fc1->weight);
  to.linear1->bias.copy_(from.mlp->fc1->bias);
  to.linear2->weight.copy_(from.mlp->fc2->weight);
  to.linear2->bias.copy_(from.mlp->fc2->bias);
}

}  // namespace

TEST(AdditionCnn, EqualsTorchsEmbeddingConvolutionsAndLinear) {
  torch::manual_seed(1);
  AdditionCnn model({.embed = 6, .layers = 3, .channels = 4});
  const auto digits = model.example_input(9);
  auto x = model.embedding(digits).view({9, 2, 2, 6}).permute({0, 3, 1, 2});
  for (const auto& module : *model.convs) {
    const auto conv = std::dynamic_pointer_cast<GridConvImpl>(module)->conv;
    x = torch::relu(torch::conv2d(x, conv->weight.flip({2, 3}), conv->bias, /*stride=*/1, 1));
  }
  const auto expected = model.head(x.permute({0, 2, 3, 1}).flatten(1));
  EXPECT_TRUE(torch::allclose(model.forward(digits), expected, 1e-5, 1e-5));
}

TEST(AdditionTransformer, EqualsTorchsEncoderLayers) {
  torch::manual_seed(1);
  AdditionTransformer model(
      {.embed = 8, .layers = 2, .hidden = 12, .heads = 2, .norm = NormPosition::Post});
  const auto digits = model.example_input(9);
  auto x = (model.embedding(digits) + model.position_table()).transpose(0, 1);  // (T, B, C)
  for (const auto& module : *model.blocks) {
    torch::nn::TransformerEncoderLayer layer(
        torch::nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(12).dropout(0));
    copy_block(*module->as<EncoderBlockImpl>(), *layer);
    x = layer(x);
  }
  const auto expected = model.head(x.transpose(0, 1).flatten(1));
  EXPECT_TRUE(torch::allclose(model.forward(digits), expected, 1e-4, 1e-4));
}

TEST(Addition, TheFinalModelsHaveTheStudysSizes) {
  // 10 x 128 digits, two convolutions with 64 channels, 256 features to 22 logits.
  EXPECT_EQ(parameters(*models().get("addition_cnn").blueprint->build()),
            kDigits * 128 + (128 * 64 * 9 + 64) + (64 * 64 * 9 + 64) + (256 * 22 + 22));
  // Digits and positions; per block attention, feed-forward and two norms; norm; head.
  const int64_t block = 4 * (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8) + 4 * 8;
  EXPECT_EQ(parameters(*models().get("addition_transformer").blueprint->build()),
            kDigits * 8 + 4 * 8 + 2 * block + 2 * 8 + (32 * 22 + 22));
}

TEST(Addition, ScoresStandForSums) {
  auto logits = torch::zeros({2, kSumLogits});
  for (const auto place : {1, 2 + 0, 12 + 7}) logits[0][place] = 1;  // 107
  for (const auto place : {0, 2 + 9, 12 + 4}) logits[1][place] = 1;  // 94
  EXPECT_TRUE(decode_sums(logits).equal(torch::tensor({107, 94}, torch::kLong)));
}

TEST(Addition, RefusesWhatIsNotFourDigits) {
  AdditionCnn model({.embed = 2, .layers = 1, .channels = 2});
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               model.forward(torch::zeros({2, 3}, torch::kLong));
                             }),
                             "addition: input 2x3 is not (B, 4) digits"));
  EXPECT_TRUE(test::contains(
      test::error_of([] { AdditionTransformerConfig{.embed = 9, .heads = 2}.validate(); }),
      "addition_transformer: embed 9 is not a multiple of heads 2"));
}

}  // namespace vitrine
