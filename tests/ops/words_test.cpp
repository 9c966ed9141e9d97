#include <torch/torch.h>

#include <cmath>

#include "tests/support/instruction_sets.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/packed_panels.h"
#include "vitrine/kernels/transpose.h"

// How numbers are laid out for products.
namespace vitrine::kernels {
namespace {

class Words : public test::EveryInstructionSet {};

constexpr int32_t kUntouched = 0x5a5a5a5a;

}  // namespace

TEST_P(Words, TransposeEqualsTheDefinitionAtEverySize) {
  for (const int64_t rows : {1, 3, 4, 5, 8, 15, 16, 17, 37, 64})
    for (const int64_t columns : {1, 3, 4, 5, 8, 15, 16, 17, 37, 64}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
      const int64_t in_stride = columns + 3, out_stride = rows + 5;
      const auto in = torch::randint(1 << 30, {rows, in_stride}, torch::kInt);
      const auto out = torch::full({columns, out_stride}, kUntouched, torch::kInt);
      transpose_words(in.data_ptr<int32_t>(), in_stride, rows, columns, out.data_ptr<int32_t>(),
                      out_stride);
      EXPECT_TRUE(out.narrow(1, 0, rows).equal(in.narrow(1, 0, columns).t()));
      EXPECT_TRUE((out.narrow(1, rows, 5) == kUntouched).all().item<bool>());
    }
}

TEST_P(Words, RoundingPairsIsRoundingRowsAndPairingThem) {
  for (const int64_t rows : {1, 2, 5, 48})
    for (const int64_t n : {1, 7, 16, 33, 64}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, n));
      const auto pairs = words_of(rows, kBf16PerWord), width = words_of(n, kBf16PerWord);
      const int64_t stride = n + 3, word_stride = n + 2;
      auto x = torch::randn({rows, stride});
      x[0][n - 1] = NAN;
      const auto all = [&] { return torch::full({pairs, word_stride}, kUntouched, torch::kInt); };
      const auto at_once = all(), one_by_one = all();
      round_pairs(x.data_ptr<float>(), stride, rows, n, at_once.data_ptr<int32_t>(), word_stride);
      const auto rounded = torch::empty({rows, width}, torch::kInt);
      round_rows(x.data_ptr<float>(), stride, rows, n, rounded.data_ptr<int32_t>(), width);
      for (int64_t pair = 0; pair < pairs; ++pair) {
        const auto row = [&](int64_t r) {
          return reinterpret_cast<const uint16_t*>(rounded.data_ptr<int32_t>() + r * width);
        };
        interleave_rows(row(2 * pair), 2 * pair + 1 < rows ? row(2 * pair + 1) : nullptr, n,
                        one_by_one.data_ptr<int32_t>() + pair * word_stride);
      }
      EXPECT_TRUE(at_once.equal(one_by_one));
      // As torch rounds.
      const auto halves = rounded.view(torch::kBFloat16).narrow(1, 0, n);
      const auto expected = x.narrow(1, 0, n).to(torch::kBFloat16);
      EXPECT_TRUE(((halves == expected) | (halves.isnan() & expected.isnan())).all().item<bool>());
    }
}

TEST_P(Words, SumOfRowsEqualsTorchs) {
  for (const int64_t n : {1, 15, 16, 64, 70, 129}) {
    const auto x = torch::randn({48, n + 3});
    const auto sums = torch::empty({n});
    sum_rows(x.data_ptr<float>(), n + 3, 48, n, sums.data_ptr<float>());
    EXPECT_TRUE(torch::allclose(sums, x.narrow(1, 0, n).sum(0), 1e-5, 1e-5)) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, Words, test::instruction_sets());

}  // namespace vitrine::kernels
