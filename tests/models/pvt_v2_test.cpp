// PVT v2 against the authors' code (tests/fixtures/make_pvt.py), and its pyramid of grids.
#include "vitrine/models/pvt_v2.h"

#include "tests/support/errors.h"
#include "tests/support/parity.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/conv_feed_forward.h"

namespace vitrine {
namespace {

std::string pvt_v2_refusal(const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice("pvt_v2_b0");
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

}  // namespace

TEST(Parity, ASmallPvtV2EqualsTheAuthorsCode) {
  PvtV2 model({.image = 64,
               .classes = 10,
               .dims = {8, 16, 20, 16},
               .depths = {1, 2, 1, 1},
               .mlp_ratios = {4, 2, 2, 2}});
  test::expect_parity(model, "v2", "pvt.json");
}

TEST(Parity, PvtV2B0EqualsTheAuthorsCode) {
  PvtV2 model(pvt_v2_b0());
  test::expect_first_logits(model, "pvt_v2_b0", "pvt.json");
}

TEST(PvtV2, KeysLieOnTheReducedGridOfEachStage) {
  const ShapesOnly shapes_only;
  const torch::NoGradGuard no_grad;
  PvtV2 model(pvt_v2_b0());
  model.eval();
  AttentionCapture capture;
  model.forward(model.example_input(1));
  ASSERT_EQ(capture.layers.size(), 8u);
  for (size_t i = 0; i < capture.layers.size(); ++i) {
    const int64_t side = int64_t{56} >> (i / 2);
    EXPECT_EQ(capture.layers[i].queries, (TokenGrid{side, side, 0})) << i;
    EXPECT_EQ(capture.layers[i].keys, (TokenGrid{7, 7, 0})) << i;
  }
  EXPECT_EQ(capture.readout_kind, Readout::Mean);
  EXPECT_TRUE(model.image_tokens()->overlap());
}

TEST(PvtV2, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(pvt_v2_refusal("kernels: [4, 3, 3, 3]"),
                             "stage 1: kernel 4 is even; choose an odd one"));
  EXPECT_TRUE(
      test::contains(pvt_v2_refusal("heads: [1, 2, 3, 8]"), "stage 3: dim 160 is not a multiple"));
  EXPECT_TRUE(test::contains(pvt_v2_refusal("image: 16"),
                             "stage 1: sr_ratio 8 is more than the 4 tokens of a side"));
  EXPECT_TRUE(test::contains(pvt_v2_refusal("strides: [4]"), "strides has 1 numbers"));
}

TEST(ConvFeedForward, RefusesAClassToken) {
  const auto message = test::error_of([] {
    ConvFeedForward(ConvFeedForwardConfig{.grid = {.rows = 2, .columns = 2, .prefix = 1}});
  });
  EXPECT_TRUE(test::contains(message, "a class token has no neighbours"));
}

}  // namespace vitrine
