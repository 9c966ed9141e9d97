#include "vitrine/models/tnt.h"

#include "tests/support/errors.h"
#include "tests/support/parity.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {
namespace {

/// The networks of tests/fixtures/make_tnt.py.
TntConfig small_tnt(int64_t patch, int64_t stride) {
  return {.image = 32,
          .patch = patch,
          .classes = 10,
          .dim = 48,
          .depth = 2,
          .heads = 3,
          .hidden = 96,
          .inner_dim = 12,
          .inner_heads = 2,
          .inner_hidden = 24,
          .inner_stride = stride};
}

std::string refusal(const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice("tnt_s");
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

}  // namespace

TEST(TntParity, ASmallOneEqualsTheAuthors) {
  Tnt model(small_tnt(/*patch=*/8, /*stride=*/4));
  test::expect_parity(model, "even", "tnt.json");
}

TEST(TntParity, OneWhoseStrideDoesNotDivideThePatchEqualsTheAuthors) {
  Tnt model(small_tnt(/*patch=*/16, /*stride=*/5));
  EXPECT_EQ(model.config.words(), 16);
  test::expect_parity(model, "odd", "tnt.json");
}

TEST(TntParity, TntSEqualsTheAuthors) {
  Tnt model(tnt_s());
  test::expect_first_logits(model, "tnt_s", "tnt.json");
}

TEST(Tnt, RecomputationGivesTheSameGradients) {
  torch::manual_seed(1);
  Tnt model(small_tnt(/*patch=*/8, /*stride=*/4));
  const auto x = model.example_input(2);
  std::vector<torch::Tensor> gradients;
  for (const bool recompute : {false, true}) {
    model.zero_grad();
    model.recompute_blocks = recompute;
    model.forward(x).square().sum().backward();
    gradients.push_back(model.inner_pos.grad().clone());
  }
  EXPECT_GT(gradients[0].abs().max().item<double>(), 0);
  EXPECT_TRUE(torch::allclose(gradients[0], gradients[1], 1e-5, 1e-7));
}

TEST(Tnt, RecordsTheAttentionAmongPatchesAlone) {
  Tnt model(small_tnt(/*patch=*/8, /*stride=*/4));
  model.eval();
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  model.forward(model.example_input(2));
  ASSERT_EQ(capture.layers.size(), 2u);
  for (const auto& layer : capture.layers) {
    EXPECT_EQ(layer.weights.sizes(), (std::vector<int64_t>{2, 3, 17, 17}));
    EXPECT_EQ(layer.queries, (TokenGrid{4, 4, 1}));
  }
}

TEST(Tnt, WordsStayInTheirPatch) {
  torch::manual_seed(1);
  Tnt model(small_tnt(/*patch=*/8, /*stride=*/4));
  auto x = model.example_input(1).requires_grad_();
  model.patch_embed(x)[5].sum().backward();  // the second row of patches, the second of it
  const auto seen = x.grad().abs().sum(torch::IntArrayRef{0, 1});
  EXPECT_GT(seen.slice(0, 8, 16).slice(1, 8, 16).min().item<double>(), 0);
  EXPECT_EQ((seen > 0).sum().item<int64_t>(), 64);
}

TEST(Tnt, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(refusal("patch: 15"), "patch 15 does not divide image 224"));
  EXPECT_TRUE(test::contains(refusal("heads: 5"), "dim 384 is not a multiple of heads 5"));
  EXPECT_TRUE(
      test::contains(refusal("inner_heads: 5"), "inner_dim 24 is not a multiple of inner_heads 5"));
  EXPECT_TRUE(test::contains(refusal("inner_stride: 0"), "inner_stride 0 must be positive"));
  EXPECT_TRUE(test::contains(refusal("drop_path: 1"), "drop_path 1 is not in [0, 1)"));
}

}  // namespace vitrine
