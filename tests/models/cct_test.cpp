#include "vitrine/models/cct.h"

#include "tests/support/parity.h"

namespace vitrine {
namespace {

/// The networks of tests/fixtures/make_cct.py.
CctConfig small_cct(int64_t kernel, int64_t stride) {
  return {.image = 64,
          .kernel = kernel,
          .stride = stride,
          .dim = 24,
          .hidden = 48,
          .attention_dropout = 0,
          .drop_path = 0};
}

}  // namespace

TEST(CctParity, SmallOnesEqualTheAuthors) {
  Cct three(small_cct(/*kernel=*/3, /*stride=*/1)), seven(small_cct(/*kernel=*/7, /*stride=*/2));
  test::expect_parity(three, "3x2", "cct.json");
  test::expect_parity(seven, "7x2", "cct.json");
}

TEST(CctParity, Cct7EqualsTheAuthors) {
  Cct model(cct_7_3x1());
  test::expect_first_logits(model, "cct_7_3x1", "cct.json");
}

TEST(Cct, HasAsManyTokensAsPublished) {
  EXPECT_EQ(cct_2_3x2().side(), 8);
  EXPECT_EQ(cct_7_3x1().side(), 16);
  EXPECT_EQ(cct_14_7x2().side(), 14);
}

}  // namespace vitrine
