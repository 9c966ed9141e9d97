#include "vitrine/ops/attention.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

struct Sizes {
  int64_t B, T, H, D;
};

class PackedAttention : public testing::TestWithParam<Sizes> {
 protected:
  torch::Tensor qkv(torch::ScalarType type) const {
    const auto [B, T, H, D] = GetParam();
    torch::manual_seed(1);
    return torch::randn({B, T, 3, H, D}, type);
  }
};

constexpr double kFloat = 1e-5;

}  // namespace

TEST_P(PackedAttention, EqualsItsReference) {
  const auto x = qkv(torch::kFloat);
  EXPECT_TRUE(torch::allclose(packed_attention(x), packed_attention_reference(x), kFloat, kFloat));
}

TEST_P(PackedAttention, GradientEqualsTheReferences) {
  const auto a = qkv(torch::kFloat).requires_grad_(true);
  const auto b = a.detach().clone().requires_grad_(true);
  const auto y = packed_attention(a);
  const auto weight = torch::randn_like(y);
  (y * weight).sum().backward();
  (packed_attention_reference(b) * weight).sum().backward();
  EXPECT_TRUE(torch::allclose(a.grad(), b.grad(), 1e-4, kFloat));
}

TEST_P(PackedAttention, GradientEqualsDifferences) {
  const auto x = qkv(torch::kDouble);
  if (x.numel() > 1000) GTEST_SKIP() << "differences of " << x.numel() << " numbers take too long";
  EXPECT_TRUE(test::gradients_match([](const auto& v) { return packed_attention(v); }, x));
}

TEST_P(PackedAttention, GradientWithDropoutEqualsDifferences) {
  const auto x = qkv(torch::kDouble);
  if (x.numel() > 1000) GTEST_SKIP() << "differences of " << x.numel() << " numbers take too long";
  const auto f = [](const auto& v) {
    torch::manual_seed(5);
    return packed_attention(v, /*dropout=*/0.4);
  };
  EXPECT_TRUE(test::gradients_match(f, x));
}

INSTANTIATE_TEST_SUITE_P(Sizes, PackedAttention,
                         testing::Values(Sizes{1, 1, 1, 1}, Sizes{2, 3, 1, 2}, Sizes{1, 7, 2, 5},
                                         Sizes{2, 9, 3, 4}, Sizes{3, 65, 3, 64},
                                         Sizes{1, 197, 2, 64}));

TEST(PackedAttention, DropoutKeepsTheMeanAndDropsTheRightShare) {
  torch::manual_seed(2);
  const int64_t T = 200;
  auto x = torch::zeros({1, T, 3, 1, 1});
  x.select(2, 2).fill_(1);  // with equal weights and values of 1, a row gives its kept share
  const auto kept = packed_attention(x, /*dropout=*/0.3);
  EXPECT_NEAR(kept.mean().item<double>(), 1, 0.01);
  EXPECT_GT(kept.std().item<double>(), 0.01);
}

TEST(PackedAttention, AcceptsATensorThatIsNotContiguous) {
  const auto x = torch::randn({4, 2, 3, 2, 8}).transpose(0, 1);
  EXPECT_TRUE(torch::allclose(packed_attention(x), packed_attention_reference(x), kFloat, kFloat));
}

TEST(PackedAttention, RefusesOtherShapes) {
  EXPECT_THROW(packed_attention(torch::randn({2, 3, 4})), Error);
  EXPECT_THROW(packed_attention(torch::randn({2, 3, 2, 4, 5})), Error);
  EXPECT_THROW(packed_attention(torch::randn({2, 3, 3, 4, 5}), 1.0), Error);
}

TEST(AttentionWeights, RowsSumToOne) {
  const auto rows = attention_weights(torch::randn({2, 9, 3, 2, 4})).sum(-1);
  EXPECT_TRUE(torch::allclose(rows, torch::ones_like(rows)));
}

}  // namespace vitrine
