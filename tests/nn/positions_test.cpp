#include "vitrine/nn/positions.h"

#include "tests/support/errors.h"

namespace vitrine {

TEST(SinusoidalTable, IsTheFormula) {
  const int64_t T = 50, C = 8;
  const auto table = sinusoidal_table(T, C);
  for (int64_t pos = 0; pos < T; ++pos) {
    for (int64_t i = 0; 2 * i < C; ++i) {
      const double angle = pos / std::pow(10000.0, 2.0 * i / C);
      EXPECT_NEAR(table[pos][2 * i].item<double>(), std::sin(angle), 1e-6);
      EXPECT_NEAR(table[pos][2 * i + 1].item<double>(), std::cos(angle), 1e-6);
    }
  }
  EXPECT_THROW(sinusoidal_table(3, 5), Error);
}

TEST(PositionEmbedding, EveryKindAddsItsTable) {
  for (const auto& [name, kind] : positions_names()) {
    PositionEmbedding layer(
        PositionEmbeddingConfig{.kind = kind, .rows = 2, .columns = 3, .prefix = 1, .dim = 8});
    const auto x = torch::randn({2, 7, 8});
    const auto y = layer(x);
    if (kind == Positions::None) {
      EXPECT_TRUE(y.equal(x));
      continue;
    }
    EXPECT_EQ(layer->table().sizes(), (std::vector<int64_t>{1, 7, 8})) << name;
    EXPECT_TRUE(torch::allclose(y - x, layer->table().expand({2, 7, 8}), 1e-4, 1e-6)) << name;
  }
}

TEST(PositionEmbedding, TwoDimensionalSharesRowsAndColumns) {
  PositionEmbedding layer(PositionEmbeddingConfig{
      .kind = Positions::Learned2d, .rows = 2, .columns = 3, .prefix = 0, .dim = 8});
  const auto grid = layer->table().view({2, 3, 8});
  EXPECT_TRUE(grid[0][0].slice(0, 0, 4).equal(grid[0][2].slice(0, 0, 4)));  // the same row
  EXPECT_TRUE(grid[0][1].slice(0, 4).equal(grid[1][1].slice(0, 4)));        // the same column
}

}  // namespace vitrine
