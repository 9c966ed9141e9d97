// PVT against the authors' code (tests/fixtures/make_pvt.py), and its pyramid of grids.
#include "vitrine/models/pvt.h"

#include "tests/support/errors.h"
#include "tests/support/parity.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {
namespace {

PvtConfig small_pvt() {
  return {.image = 64,
          .classes = 10,
          .dims = {8, 16, 20, 16},
          .depths = {1, 2, 1, 1},
          .mlp_ratios = {4, 2, 2, 2}};
}

/// Where queries and keys lie, layer by layer.
std::vector<std::pair<TokenGrid, TokenGrid>> grids_seen(Model& model) {
  const torch::NoGradGuard no_grad;
  model.eval();
  AttentionCapture capture;
  model.forward(model.example_input(1));
  std::vector<std::pair<TokenGrid, TokenGrid>> grids;
  for (const auto& layer : capture.layers) grids.emplace_back(layer.queries, layer.keys);
  return grids;
}

std::string pvt_refusal(const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice("pvt_tiny");
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

}  // namespace

TEST(Parity, ASmallPvtEqualsTheAuthorsCode) {
  Pvt model(small_pvt());
  test::expect_parity(model, "v1", "pvt.json");
}

TEST(Parity, PvtTinyEqualsTheAuthorsCode) {
  Pvt model(pvt_tiny());
  test::expect_first_logits(model, "pvt_tiny", "pvt.json");
}

TEST(Pvt, KeysLieOnTheReducedGridOfEachStage) {
  const ShapesOnly shapes_only;
  Pvt model(pvt_tiny());
  const auto seen = grids_seen(model);
  ASSERT_EQ(seen.size(), 8u);
  for (size_t i = 0; i < seen.size(); ++i) {
    const int64_t side = int64_t{56} >> (i / 2), prefix = i < 6 ? 0 : 1;
    EXPECT_EQ(seen[i].first, (TokenGrid{side, side, prefix})) << i;
    EXPECT_EQ(seen[i].second, (TokenGrid{7, 7, prefix})) << i;
  }
}

TEST(Pvt, BlocksRunThroughAllStages) {
  Pvt model(small_pvt());
  ASSERT_EQ(model.blocks_in_order().size(), 5u);
  EXPECT_EQ(model.blocks_in_order()[2], model.stages[1].blocks->in_order()[1]);
  EXPECT_EQ(model.position_tables().size(), 4u);
  EXPECT_EQ(model.position_tables()[3].size(1), 2 * 2 + 1);
}

TEST(Pvt, ARecomputedPassHasTheSameGradients) {
  torch::manual_seed(1);
  Pvt model(small_pvt());
  const auto x = model.example_input(2);
  const auto gradient_of = [&](bool recompute) {
    model.zero_grad();
    model.recompute_blocks = recompute;
    model.forward(x).square().sum().backward();
    return model.stages[0].blocks->named_parameters()["0.attn.kv.weight"].grad().clone();
  };
  const auto kept = gradient_of(false);
  EXPECT_GT(kept.abs().max().item<double>(), 0);
  EXPECT_TRUE(torch::allclose(gradient_of(true), kept, 1e-5, 1e-7));
}

TEST(Pvt, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(
      test::contains(pvt_refusal("image: 80"), "stage 4: patch 2 does not divide a side of 5"));
  EXPECT_TRUE(test::contains(pvt_refusal("heads: [1, 2, 3, 8]"), "stage 3: dim 320 is not a"));
  EXPECT_TRUE(test::contains(pvt_refusal("depths: [2, 2, 2]"),
                             "depths has 3 numbers and dims has 4; give one for each stage"));
  EXPECT_TRUE(test::contains(pvt_refusal("depths: [2, 0, 2, 2]"), "depths of 0 must be positive"));
  EXPECT_TRUE(test::contains(pvt_refusal("sr_ratios: [8, 4, 2, 2]"), "the last sr_ratio is 2"));
  EXPECT_TRUE(test::contains(pvt_refusal("sr_ratios: [64, 4, 2, 1]"),
                             "stage 1: sr_ratio 64 is more than the 56 tokens of a side"));
}

}  // namespace vitrine
