#include "vitrine/nn/positional_encoding.h"

#include "tests/support/errors.h"

namespace vitrine {

TEST(SinusoidalTable, IsTheFormula) {
  const int64_t T = 50, C = 8;
  const auto table = sinusoidal_encoding(T, C);
  for (int64_t pos = 0; pos < T; ++pos) {
    for (int64_t i = 0; 2 * i < C; ++i) {
      const double angle = pos / std::pow(10000.0, 2.0 * i / C);
      EXPECT_NEAR(table[pos][2 * i].item<double>(), std::sin(angle), 1e-6);
      EXPECT_NEAR(table[pos][2 * i + 1].item<double>(), std::cos(angle), 1e-6);
    }
  }
  EXPECT_THROW(sinusoidal_encoding(3, 5), Error);
}

TEST(PositionEmbedding, EveryKindAddsItsTable) {
  for (const auto& [name, kind] : positional_encoding_names()) {
    torch::nn::Module owner;
    const PositionEmbedding layer(owner,
                                  {.kind = kind, .rows = 2, .columns = 3, .prefix = 1, .dim = 8});
    const auto x = torch::randn({2, 7, 8});
    const auto y = layer(x);
    if (kind == PositionalEncoding::None || kind == PositionalEncoding::Relative) {
      EXPECT_TRUE(y.equal(x)) << name;
      EXPECT_FALSE(layer.table().defined()) << name;
      continue;
    }
    EXPECT_EQ(layer.table().sizes(), (std::vector<int64_t>{1, 7, 8})) << name;
    EXPECT_TRUE(torch::allclose(y - x, layer.table().expand({2, 7, 8}), 1e-4, 1e-6)) << name;
  }
}

TEST(LinearTable, RisesBySharesOfTheLength) {
  const auto table = linear_encoding(4, 3);
  for (int64_t channel = 0; channel < 3; ++channel)
    EXPECT_TRUE(table.select(1, channel).equal(torch::tensor({0.0f, 0.25f, 0.5f, 0.75f})));
}

TEST(PositionEmbedding, ASequenceMayBeShorterThanTheTableButNotLonger) {
  torch::nn::Module owner;
  const PositionEmbedding layer(owner, sequence_positions(PositionalEncoding::Linear, 6, 8));
  const auto x = torch::randn({2, 4, 8});
  EXPECT_TRUE(layer(x).equal(x + linear_encoding(6, 8).slice(0, 0, 4)));
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               layer(torch::randn({2, 7, 8}));
                             }),
                             "positions: 7 tokens do not fit 6 positions"));
  const PositionEmbedding grid(
      owner,
      {.kind = PositionalEncoding::Sinusoidal, .rows = 2, .columns = 3, .prefix = 0, .dim = 8});
  EXPECT_TRUE(test::contains(test::error_of([&] { grid(x); }), "4 tokens do not fit 6"));
}

TEST(PositionEmbedding, TwoDimensionalSharesRowsAndColumns) {
  torch::nn::Module owner;
  const PositionEmbedding layer(
      owner,
      {.kind = PositionalEncoding::Learned2d, .rows = 2, .columns = 3, .prefix = 0, .dim = 8});
  const auto grid = layer.table().view({2, 3, 8});
  EXPECT_TRUE(grid[0][0].slice(0, 0, 4).equal(grid[0][2].slice(0, 0, 4)));  // the same row
  EXPECT_TRUE(grid[0][1].slice(0, 4).equal(grid[1][1].slice(0, 4)));        // the same column
}

TEST(PositionEmbedding, WhatItLearnsBelongsToItsOwner) {
  const auto names = [](PositionalEncoding kind) {
    torch::nn::Module owner;
    const PositionEmbedding layer(owner,
                                  {.kind = kind, .rows = 2, .columns = 3, .prefix = 1, .dim = 8});
    layer(torch::zeros({1, 7, 8})).sum().backward();
    std::vector<std::string> result;
    for (const auto& item : owner.named_parameters()) {
      result.push_back(item.key());
      EXPECT_TRUE(item.value().grad().defined()) << item.key();
    }
    return result;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(PositionalEncoding::Learned), Names{"pos_embed"});
  EXPECT_EQ(names(PositionalEncoding::Learned2d),
            (Names{"prefix_embed", "row_embed", "column_embed"}));
}

}  // namespace vitrine
