#include "vitrine/models/t2t_vit.h"

#include "tests/support/errors.h"
#include "tests/support/parity.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {
namespace {

constexpr const char* kFile = "t2t_vit.json";

/// The networks of tests/fixtures/make_t2t_vit.py.
T2tVitConfig small_t2t(TokenLayerKind kind) {
  return {.image = 64,
          .classes = 10,
          .token_layer = kind,
          .token_dim = 8,
          .token_dropout = 0,
          .dim = 48,
          .depth = 2,
          .heads = 3,
          .hidden = 96};
}

std::string refusal_of_t2t(const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice("t2t_vit_14");
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

}  // namespace

TEST(T2tVitParity, WithPerformerTokensEqualsTheAuthors) {
  T2tVit model(small_t2t(TokenLayerKind::Performer));
  test::expect_parity(model, "performer", kFile);
}

TEST(T2tVitParity, WithTransformerTokensEqualsTheAuthors) {
  T2tVit model(small_t2t(TokenLayerKind::Transformer));
  test::expect_parity(model, "transformer", kFile);
}

TEST(T2tVitParity, OfFullSizeEqualsTheAuthors) {
  T2tVit performer(t2t_vit_7()), transformer(t2t_vit_t_14());
  test::expect_first_logits(performer, "t2t_vit_7", kFile);
  test::expect_first_logits(transformer, "t2t_vit_t_14", kFile);
}

TEST(T2tVit, ItsPositionsAreTheAuthorsSinusoids) {
  const auto values = test::noted(kFile, "positions").get<std::vector<double>>();
  const T2tVit model({.image = 32, .dim = 12, .depth = 1, .heads = 1, .hidden = 12});
  ASSERT_EQ(model.pos_embed.sizes(), (std::vector<int64_t>{1, 5, 12}));
  EXPECT_TRUE(torch::allclose(model.pos_embed.flatten(), torch::tensor(values, torch::kFloat),
                              /*rtol=*/0, /*atol=*/1e-6));
}

TEST(T2tVit, ItsRandomFeaturesAreOrthogonal) {
  const T2tVit model(t2t_vit_7());
  for (const auto* name : {"tokens_to_token.attention1.w", "tokens_to_token.attention2.w"}) {
    const auto w = model.named_buffers()[name];
    ASSERT_EQ(w.sizes(), (std::vector<int64_t>{32, 64}));
    EXPECT_TRUE(torch::allclose(w.matmul(w.t()), 32 * torch::eye(32), 1e-4, 1e-4)) << name;
  }
}

TEST(T2tVit, HoldsAsManyNumbersAsThePublishedFiles) {
  const auto numbers_of = [](const T2tVitConfig& config) {
    const T2tVit model(config);
    int64_t count = 0;
    for (const auto& p : model.parameters()) count += p.numel();
    for (const auto& b : model.buffers()) count += b.numel();
    return count;
  };
  EXPECT_EQ(numbers_of(t2t_vit_7()), 4'310'222);
  EXPECT_EQ(numbers_of(t2t_vit_t_14()), 21'541'070);
}

TEST(T2tVit, RecordsAttentionOnTheGridOfEverySplit) {
  for (const auto kind : {TokenLayerKind::Performer, TokenLayerKind::Transformer}) {
    T2tVit model(small_t2t(kind));
    test::fill_by_name(model);
    model.eval();
    const torch::NoGradGuard no_grad;
    const auto x = model.example_input(2);
    const auto plain = model.forward(x);
    AttentionCapture capture(/*in_graph=*/true);
    EXPECT_TRUE(torch::allclose(model.forward(x), plain, 1e-4, 1e-5));
    std::vector<TokenGrid> grids;
    for (const auto& layer : capture.layers) {
      EXPECT_EQ(layer.queries, layer.keys);
      EXPECT_TRUE(torch::allclose(layer.weights.sum(-1), torch::ones({}), 1e-2));
      grids.push_back(layer.queries);
    }
    EXPECT_EQ(grids, (std::vector<TokenGrid>{{16, 16}, {8, 8}, {4, 4, 1}, {4, 4, 1}}));
  }
}

TEST(T2tVit, TellsWhichPixelsAFirstTokenSees) {
  T2tVit model(t2t_c10());
  const auto tokens = model.image_tokens();
  ASSERT_TRUE(tokens.has_value());
  EXPECT_EQ(tokens->rows, 32);
  EXPECT_EQ(tokens->field, 3);
  EXPECT_EQ(tokens->stride, 1);
  EXPECT_EQ(model.config.side(2), 8);
  EXPECT_EQ(T2tVit(t2t_vit_7()).input_filters().sizes(), (std::vector<int64_t>{192, 3, 7, 7}));
}

TEST(T2tVit, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(refusal_of_t2t("image: 225"), "image 225 cannot be split"));
  EXPECT_TRUE(test::contains(refusal_of_t2t("heads: 5"), "dim 384 is not a multiple of heads 5"));
  EXPECT_TRUE(test::contains(refusal_of_t2t("strides: [4, 2]"), "must have 3 numbers each"));
  EXPECT_TRUE(test::contains(refusal_of_t2t("strides: [8, 2, 2]"), "windows of 7 at stride 8"));
  EXPECT_TRUE(test::contains(refusal_of_t2t("kernels: [7, 3, 0]"), "windows of 0 at stride 2"));
  EXPECT_TRUE(test::contains(refusal_of_t2t("token_dim: 7"), "token_dim 7"));
  EXPECT_TRUE(test::contains(refusal_of_t2t("token_layer: perfomer"), "'performer'?"));
}

}  // namespace vitrine
