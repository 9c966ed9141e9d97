#include "vitrine/ops/group_norm.h"

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

GroupNormWeights random_norm(int64_t groups, int64_t channels,
                             torch::ScalarType type = torch::kFloat) {
  return {.groups = groups,
          .gamma = torch::randn({channels}, type).requires_grad_(true),
          .beta = torch::randn({channels}, type).requires_grad_(true),
          .eps = 1e-3};
}

}  // namespace

TEST(GroupNorm, EqualsTorchsForwardAndBackward) {
  torch::manual_seed(1);
  for (const auto& [groups, channels, height, width] :
       {std::array<int64_t, 4>{1, 1, 1, 2}, {3, 6, 5, 1}, {2, 8, 7, 9}, {32, 96, 14, 14}}) {
    const auto norm = random_norm(groups, channels);
    const auto map = torch::randn({3, channels, height, width}) * 2 + 1;
    const auto x = map.contiguous(kChannelsLast).requires_grad_(true);
    const auto weight = torch::randn_like(map);
    const auto gradients = [&](const torch::Tensor& y) {
      return torch::autograd::grad({(y * weight).sum()}, {x, norm.gamma, norm.beta});
    };
    const auto ours = group_norm(x, norm),
               theirs = torch::group_norm(x, groups, norm.gamma, norm.beta, norm.eps);
    EXPECT_TRUE(ours.equal(theirs)) << channels;
    EXPECT_TRUE(test::contains(ours.grad_fn()->name(), "ChannelsLastGroupNorm")) << channels;
    const auto a = gradients(ours), b = gradients(theirs);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(torch::allclose(a[i], b[i], 1e-3, 1e-3)) << channels << " gradient " << i;
    EXPECT_TRUE(a[0].is_contiguous(kChannelsLast)) << channels;
  }
}

TEST(GroupNorm, GradientsEqualDifferences) {
  torch::manual_seed(1);
  const auto norm = random_norm(2, 4, torch::kDouble);
  const auto x = torch::randn({2, 4, 3, 2}, torch::kDouble);
  EXPECT_TRUE(test::gradients_match(
      [&](const torch::Tensor& map) { return group_norm(map.contiguous(kChannelsLast), norm); },
      x));
  EXPECT_TRUE(test::gradients_match(
      [&](const torch::Tensor& gamma) {
        return group_norm(x.contiguous(kChannelsLast), {2, gamma, norm.beta, norm.eps});
      },
      norm.gamma));
}

TEST(GroupNorm, RefusesMapsOfOtherChannels) {
  const auto norm = random_norm(2, 4);
  EXPECT_EQ(test::error_of([&] {
              group_norm(torch::randn({1, 6, 2, 2}), norm);
            }),
            "group_norm: a map of 1x6x2x2 does not fit a norm of 4 channels in 2 groups");
}

}  // namespace vitrine
