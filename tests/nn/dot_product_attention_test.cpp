#include "vitrine/nn/dot_product_attention.h"

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/attention.h"

namespace vitrine {
namespace {

DotProductAttentionConfig config_of(int64_t queries, int64_t keys, double scale) {
  return {.queries = sequence_grid(queries), .keys = sequence_grid(keys), .scale = scale};
}

}  // namespace

TEST(DotProductAttention, OfThePartsOfAPackedProjectionEqualsPackedAttention) {
  torch::manual_seed(1);
  const auto qkv = torch::randn({2, 5, 3, 4, 7});
  const auto parts = qkv.permute({2, 0, 3, 1, 4}).unbind();  // (B, H, T, D) each
  const auto mixed =
      dot_product_attention(parts[0], parts[1], parts[2], config_of(5, 5, 1 / std::sqrt(7)));
  EXPECT_TRUE(torch::allclose(mixed, packed_attention_reference(qkv), 1e-5, 1e-6));
}

TEST(DotProductAttention, OfFewerKeysRecordsWhereQueriesAndKeysLie) {
  torch::manual_seed(1);
  const DotProductAttentionConfig c{
      .queries = {.rows = 4, .columns = 4}, .keys = {.rows = 2, .columns = 2}, .scale = 0.5};
  AttentionCapture capture;
  const auto y = dot_product_attention(torch::randn({3, 2, 16, 4}), torch::randn({3, 2, 4, 4}),
                                       torch::randn({3, 2, 4, 6}), c);
  EXPECT_EQ(y.sizes(), torch::IntArrayRef({3, 16, 12}));
  const auto& layer = capture.layers.at(0);
  EXPECT_EQ(layer.weights.sizes(), torch::IntArrayRef({3, 2, 16, 4}));
  EXPECT_EQ(layer.keys, c.keys);
  EXPECT_TRUE(torch::allclose(layer.weights.sum(-1), torch::ones({3, 2, 16})));
}

TEST(DotProductAttention, RefusesKeysOfAnotherWidth) {
  EXPECT_THROW(dot_product_attention(torch::randn({1, 2, 3, 4}), torch::randn({1, 2, 3, 5}),
                                     torch::randn({1, 2, 3, 5}), config_of(3, 3, 1)),
               Error);
}

}  // namespace vitrine
