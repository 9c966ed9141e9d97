#include "vitrine/ops/dropout.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {

TEST(KeyedDropout, DropsTheRightShareAndKeepsTheMean) {
  torch::manual_seed(1);
  const auto y = keyed_dropout(torch::ones({1000, 1000}), 0.25, /*training=*/true);
  EXPECT_NEAR(y.eq(0).to(torch::kFloat).mean().item<double>(), 0.25, 0.002);
  EXPECT_NEAR(y.mean().item<double>(), 1, 0.003);
  const auto columns = y.mean(0), rows = y.mean(1);  // no row or column stands out
  EXPECT_LT((columns - 1).abs().max().item<double>(), 0.1);
  EXPECT_LT((rows - 1).abs().max().item<double>(), 0.1);
}

TEST(KeyedDropout, DoesNotDependOnThreadsAndFloatAgreesWithDouble) {
  const auto run = [](int threads, torch::ScalarType type) {
    torch::set_num_threads(threads);
    torch::manual_seed(3);
    return keyed_dropout(torch::ones({7, 12345}, type), 0.5, true).to(torch::kFloat);
  };
  const auto one = run(1, torch::kFloat);
  EXPECT_TRUE(one.equal(run(2, torch::kFloat)));
  EXPECT_TRUE(one.equal(run(2, torch::kDouble)));
}

TEST(KeyedDropout, IsIdentityOutsideTraining) {
  const auto x = torch::randn({5});
  EXPECT_TRUE(keyed_dropout(x, 0.5, /*training=*/false).equal(x));
  EXPECT_TRUE(keyed_dropout(x, 0, /*training=*/true).equal(x));
}

TEST(KeyedDropout, GradientEqualsDifferences) {
  const auto f = [](const auto& x) {
    torch::manual_seed(4);
    return keyed_dropout(x, 0.5, true);
  };
  EXPECT_TRUE(test::gradients_match(f, torch::randn({3, 7})));
}

TEST(KeyedDropout, RefusesProbabilitiesOutsideTheRange) {
  EXPECT_THROW(keyed_dropout(torch::ones(3), 1, true), Error);
  EXPECT_THROW(keyed_dropout(torch::ones(3), -0.1, true), Error);
}

TEST(DropPath, DropsWholeSamples) {
  torch::manual_seed(1);
  const auto y = drop_path(torch::ones({1000, 3, 2}), 0.2, /*training=*/true).flatten(1);
  EXPECT_TRUE(std::get<0>(y.max(1)).equal(std::get<0>(y.min(1))));
  EXPECT_NEAR(y.mean().item<double>(), 1, 0.05);
}

}  // namespace vitrine
