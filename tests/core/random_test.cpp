#include "vitrine/core/random.h"

#include <gtest/gtest.h>

#include <set>

namespace vitrine {

TEST(Random, IsDecidedByItsKeyAlone) {
  Random a({1, 2, 3}), b({1, 2, 3}), c({1, 3, 2});
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Random, UniformHasTheRightMeanAndRange) {
  Random random({7});
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

TEST(Random, NormalAndBetaHaveTheirMoments) {
  Random random({8});
  double sum = 0, squares = 0, beta = 0;
  constexpr int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    beta += random.beta(0.8, 0.2);
  }
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(beta / n, 0.8, 0.01);
}

TEST(Random, PermutationHoldsEveryNumberOnce) {
  for (const int64_t n : {0, 1, 2, 1000}) {
    const auto order = permutation(n, Random({1}));
    EXPECT_EQ(static_cast<int64_t>(std::set(order.begin(), order.end()).size()), n);
  }
}

}  // namespace vitrine
