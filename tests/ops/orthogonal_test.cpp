#include "vitrine/ops/orthogonal.h"

#include <torch/torch.h>

#include "tests/support/errors.h"

namespace vitrine {

TEST(NearlyOrthogonal, BendsSingularValuesAndKeepsTheirDirections) {
  torch::manual_seed(1);
  for (const auto& [rows, columns] : {std::pair{7, 7}, {24, 8}, {5, 40}}) {
    const auto matrix = torch::randn({rows, columns}, torch::kDouble);
    const auto [u, s, vt] = torch::linalg_svd(matrix, /*full_matrices=*/false);
    auto bent = s / s.norm();
    for (int turn = 0; turn < 5; ++turn)
      bent = 3.4445 * bent - 4.7750 * bent.pow(3) + 2.0315 * bent.pow(5);
    const auto result = newton_schulz_orthogonalize(matrix);
    EXPECT_TRUE(torch::allclose(result, u.mm(bent.diag()).mm(vt), 1e-6, 1e-6));
    const auto values = torch::linalg_svdvals(result);
    EXPECT_LT(values.max().item<double>(), 1.25);
    EXPECT_GT(values.min().item<double>(), 0.6);
  }
}

TEST(NearlyOrthogonal, TakesNothingForNothing) {
  EXPECT_EQ(newton_schulz_orthogonalize(torch::zeros({3, 4})).abs().max().item<double>(), 0);
}

TEST(NearlyOrthogonal, RefusesWhatIsNoMatrix) {
  EXPECT_TRUE(test::contains(test::error_of([] {
                               newton_schulz_orthogonalize(torch::zeros({2, 3, 4}));
                             }),
                             "2x3x4"));
}

}  // namespace vitrine
