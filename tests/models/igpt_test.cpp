#include "vitrine/models/igpt.h"

#include "tests/support/errors.h"
#include "tests/support/parity.h"
#include "tests/support/shake.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {
namespace {

/// The small network of tests/fixtures/make_igpt.py.
IgptConfig small_igpt() {
  return {.image = 4, .colors = 20, .dim = 24, .heads = 3, .hidden = 96, .layers = 3};
}

torch::Tensor noted_tokens(const nlohmann::json& expected) {
  const int64_t B = expected["batch"];
  return torch::tensor(expected["tokens"].get<std::vector<int64_t>>()).view({B, -1});
}

torch::Tensor loss_with_gradients(Igpt& model, const torch::Tensor& tokens) {
  const auto loss =
      torch::nn::functional::cross_entropy(model.forward(tokens).flatten(0, 1), tokens.flatten());
  loss.backward();
  return loss;
}

std::string refusal(const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice("igpt_s");
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

}  // namespace

TEST(IgptParity, LogitsAndGradientsEqualThoseOfHuggingFace) {
  Igpt model(small_igpt());
  const auto expected = test::noted("igpt.json", "small");
  test::fill_by_name(model);
  const auto tokens = noted_tokens(expected);
  test::expect_logits(model, tokens, expected["output"]);
  const auto loss = loss_with_gradients(model, tokens);
  EXPECT_NEAR(loss.item<double>(), expected["loss"].get<double>(), test::kOutput);
  test::expect_gradients(model, expected["gradients"]);
}

TEST(IgptParity, IgptSOverASmallImageEqualsHuggingFace) {
  auto config = igpt_s();
  config.image = 8;
  Igpt model(config);
  const auto expected = test::noted("igpt.json", "igpt_s");
  test::fill_by_name(model);
  model.eval();
  const torch::NoGradGuard no_grad;
  const auto last = model.forward(noted_tokens(expected))[0][-1];
  const auto values = expected["last"].get<std::vector<double>>();
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(last[i].item<double>(), values[i], test::kOutput) << i;
}

TEST(Igpt, PredictsAColourFromThoseBeforeItAlone) {
  torch::manual_seed(1);
  Igpt model(small_igpt());
  test::shake(model, 0.1);
  model.eval();
  const torch::NoGradGuard no_grad;
  const auto tokens = model.example_input(1);
  const auto before = model.forward(tokens);
  for (const int64_t changed : {0, 7, 15}) {
    auto other = tokens.clone();
    other[0][changed] = (tokens[0][changed] + 1) % 20;
    const auto after = model.forward(other);
    for (int64_t t = 0; t < 16; ++t)
      EXPECT_EQ(after[0][t].equal(before[0][t]), t <= changed) << changed << " " << t;
  }
}

TEST(Igpt, HasNoBiasAndNormsThatDoNotCentre) {
  Igpt model(small_igpt());
  for (const auto& item : model.named_parameters())
    EXPECT_FALSE(item.key().ends_with("bias")) << item.key();
  const auto ones = torch::full({1, 24}, 3.0);
  EXPECT_TRUE(torch::allclose(model.norm(ones), torch::ones({1, 24}), 1e-5, 1e-5));
}

TEST(Igpt, ItsPaletteIsNoParameterButStaysWithItsWeights) {
  Igpt model(small_igpt());
  EXPECT_EQ(model.palette().sizes(), (std::vector<int64_t>{20, 3}));
  EXPECT_TRUE(model.named_buffers().contains("colors"));
  EXPECT_FALSE(model.named_parameters().contains("colors"));
  EXPECT_EQ(model.palette().min().item<double>(), -1);
  EXPECT_LE(model.palette().max().item<double>(), 1);
}

TEST(Igpt, AClassifierReadsTheMeanOfTheMiddleLayer) {
  torch::manual_seed(1);
  auto config = small_igpt();
  config.layers = 4;
  Igpt model(config);
  model.reset_head(5);
  test::shake(model, 0.1);
  model.eval();
  const torch::NoGradGuard no_grad;
  const auto images = torch::rand({2, 3, 4, 4}) * 2 - 1;
  EXPECT_EQ(model.image_shape()->classes, 5);
  EXPECT_EQ(model.decoder(), nullptr);
  auto x = torch::cat({model.start.expand({2, 1, 24}),
                       model.embedding(model.quantized(images)).narrow(1, 0, 15)},
                      1) +
           model.pos_embed;
  for (int i = 0; i < 2; ++i) x = model.blocks->in_order()[i]->forward(x);
  const auto expected = model.blocks->at<IgptBlockImpl>(2).norm1(x).mean(1);
  EXPECT_TRUE(torch::allclose(model.features(images), expected, 1e-5, 1e-6));
  EXPECT_EQ(model.forward(images).sizes(), (std::vector<int64_t>{2, 5}));
}

TEST(Igpt, QuantisesEachPixelToTheNearestColour) {
  torch::manual_seed(1);
  Igpt model(small_igpt());
  model.palette().copy_(torch::rand({20, 3}) * 2 - 1);
  const auto images = torch::rand({2, 3, 4, 4}) * 2 - 1;
  const auto tokens = model.quantized(images);
  const auto pixels = images.flatten(2).transpose(1, 2).unsqueeze(2);  // (B, T, 1, 3)
  const auto distance = (pixels - model.palette()).square().sum(-1);   // (B, T, colors)
  EXPECT_TRUE(tokens.equal(distance.argmin(-1)));
}

TEST(Igpt, RecordsCausalAttention) {
  Igpt model(small_igpt());
  model.eval();
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  model.forward(model.example_input(2));
  ASSERT_EQ(capture.layers.size(), 3u);
  const auto& weights = capture.layers[0].weights;
  EXPECT_EQ(weights.sizes(), (std::vector<int64_t>{2, 3, 16, 16}));
  EXPECT_EQ(weights.triu(1).abs().max().item<double>(), 0);
}

TEST(Igpt, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(refusal("heads: 5"), "dim 512 is not a multiple of heads 5"));
  EXPECT_TRUE(test::contains(refusal("colors: 1"), "colors 1 is less than 2"));
  EXPECT_TRUE(test::contains(refusal("image: 0"), "image 0"));
  EXPECT_TRUE(test::contains(refusal("feature_layer: 25"),
                             "feature_layer 25 is not between 0 and layers 24"));
  Igpt model(small_igpt());
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               model.forward(torch::zeros({1, 25}, torch::kLong));
                             }),
                             "input 1x25 is not (B, 16), the colours of images of 4 x 4 pixels"));
  model.reset_head(3);
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               model.forward(torch::zeros({1, 3, 5, 5}));
                             }),
                             "input 1x3x5x5 is not (B, 3, 4, 4)"));
}

}  // namespace vitrine
