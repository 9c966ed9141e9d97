#include "vitrine/models/hybrid.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"

namespace vitrine {
namespace {

std::string refusal(const std::string& name, const std::string& settings) {
  return test::error_of([&] {
    ModelChoice choice(name);
    Settings::from_text(settings, "test").read_into(choice);
    choice->validate();
  });
}

VitConfig on_resnet(ResNetStem stem, std::vector<int64_t> blocks, int64_t image) {
  return {.image = image,
          .patch = 1,
          .classes = 5,
          .dim = 24,
          .depth = 1,
          .heads = 2,
          .hidden = 48,
          .backbone = {.kind = BackboneKind::ResNet, .blocks = std::move(blocks), .stem = stem}};
}

/// A ResNet of bottlenecks as Caffe and Keras have it.
ResNetConfig caffe_resnet() {
  return {.image = 40,
          .classes = 5,
          .block = ResNetBlock::Bottleneck,
          .blocks = {1, 2, 1},
          .stride_first = true,
          .conv_bias = true,
          .norm_eps = 1e-3};
}

VitConfig on_backbone(const BackboneConfig& backbone, int64_t image) {
  auto config = on_resnet(ResNetStem::ImageNet, {1}, image);
  config.backbone = backbone;
  return config;
}

}  // namespace

TEST(Hybrid, MakesAsManyTokensAsPublished) {
  struct Case {
    VitConfig config;
    int64_t image, side, stride;
  };
  for (auto [config, image, side, stride] :
       {Case{r50_vit_b16(), 224, 14, 16}, Case{r50_vit_b16(), 384, 24, 16},
        Case{r26_vit_s32(), 224, 7, 32}, Case{r50_vit_l32(), 384, 12, 32},
        Case{r_vit_ti16(), 224, 7, 32}, Case{hybrid_c10_tiny(), 32, 8, 4}}) {
    config.image = image;
    EXPECT_EQ(config.tokens().rows, side);
    EXPECT_EQ(config.tokens().stride, stride);
    EXPECT_LE(config.tokens().field, image);
    EXPECT_TRUE(config.tokens().overlap());
  }
}

TEST(Hybrid, ABackboneGivesTheFeatureMapOfItsResNet) {
  for (const auto stem : {ResNetStem::ImageNet, ResNetStem::Cifar}) {
    torch::manual_seed(1);
    const auto config = on_resnet(stem, {1, 2}, /*image=*/32);
    Vit model(config);
    model.eval();
    ResNet resnet({.image = 32, .classes = 5, .stem = stem, .blocks = {1, 2}});
    resnet.eval();
    const torch::NoGradGuard no_grad;
    auto ours = model.patch_embed->named_parameters();
    for (auto& item : resnet.named_parameters())
      if (!item.key().starts_with("fc.")) item.value().copy_(ours["backbone." + item.key()]);
    EXPECT_FALSE(ours.contains("backbone.fc.weight"));
    const auto x = model.example_input(2);
    const auto map = resnet.feature_map(x);
    EXPECT_EQ(map.size(1), config.backbone.feature_map(32, 3).channels);
    EXPECT_EQ(map.size(3), config.tokens().columns);
    auto proj = model.patch_embed->proj;
    EXPECT_TRUE(torch::allclose(model.patch_embed(x), proj(map).flatten(2).transpose(1, 2),
                                /*rtol=*/1e-4, /*atol=*/1e-5));
  }
}

TEST(Hybrid, ABackboneOfBottlenecksGivesTheFeatureMapOfItsResNet) {
  torch::manual_seed(1);
  ResNet resnet(caffe_resnet());
  test::shake(resnet, 0.1);  // biases, too
  resnet.eval();
  const auto config = on_backbone(*resnet.as_backbone(), /*image=*/40);
  auto torchvision = config;
  torchvision.backbone.stride_first = false;
  const torch::NoGradGuard no_grad;
  const auto x = torch::randn({2, 3, 40, 40});
  const auto map = resnet.feature_map(x);
  EXPECT_EQ(map.size(1), 1024);
  EXPECT_EQ(map.size(2), 3);
  for (const auto& c : {config, torchvision}) {
    Vit model(c);
    model.eval();
    auto ours = model.backbone()->named_parameters();
    for (const auto& item : resnet.named_parameters())
      if (!item.key().starts_with("fc.")) ours[item.key()].copy_(item.value());
    EXPECT_EQ(c.backbone.feature_map(40, 3).channels, 1024);
    EXPECT_EQ(c.tokens().rows, 3);
    EXPECT_EQ(model.backbone()->forward(x).equal(map), c.backbone.stride_first);
  }
  EXPECT_FALSE(Vit(config).as_backbone());
}

TEST(Hybrid, ABypassTakesMapsInPlaceOfImages) {
  torch::manual_seed(1);
  Vit model(on_resnet(ResNetStem::Cifar, {1, 1}, /*image=*/16));
  model.eval();
  const auto x = model.example_input(2);
  const auto map = model.backbone()->forward(x), output = model.forward(x);
  {
    const BackboneBypass bypass;
    EXPECT_TRUE(model.forward(map).equal(output));
  }
  EXPECT_TRUE(model.forward(x).equal(output));
  EXPECT_EQ(Vit(vit_c10_small()).backbone(), nullptr);
}

TEST(Hybrid, TellsWhichPixelsATokenSees) {
  const auto basic = on_resnet(ResNetStem::Cifar, {1, 2}, /*image=*/32);
  auto bottlenecks = basic;
  bottlenecks.backbone.block = ResNetBlock::Bottleneck;
  auto caffe = bottlenecks;
  caffe.backbone.stride_first = true;
  for (const auto& config : {basic, bottlenecks, caffe}) {
    torch::manual_seed(1);
    Vit model(config);
    model.eval();  // BatchNorm then looks at no other pixel
    const auto tokens = config.tokens();
    const auto seen_by = [&](int64_t column) {
      auto x = torch::randn({8, 3, 32, 32}).requires_grad_();
      const auto middle = tokens.rows / 2 * tokens.columns + column;
      model.patch_embed(x).select(1, middle).sum().backward();
      return x.grad().abs().sum({0, 1, 2}).nonzero().flatten();
    };
    const auto here = seen_by(tokens.columns / 2), next = seen_by(tokens.columns / 2 + 1);
    EXPECT_EQ((here.max() - here.min()).item<int64_t>() + 1, tokens.field);
    EXPECT_EQ((next.min() - here.min()).item<int64_t>(), tokens.stride);
  }
}

TEST(Hybrid, AFreshBlockPassesItsShortcutOn) {
  torch::manual_seed(1);
  Vit model({.image = 32,
             .patch = 1,
             .dim = 24,
             .depth = 1,
             .heads = 2,
             .backbone = {.kind = BackboneKind::Bit, .blocks = {1}, .width = 32}});
  const auto parameters = model.named_parameters();
  const auto& last = parameters["patch_embed.backbone.stages.0.blocks.0.norm3.weight"];
  EXPECT_TRUE(last.equal(torch::zeros({128})));
}

TEST(Hybrid, ItsFiltersAreThoseOfTheFirstConvolution) {
  const Vit resnet(on_resnet(ResNetStem::Cifar, {1}, /*image=*/32));
  EXPECT_TRUE(
      resnet.input_filters().equal(resnet.named_parameters()["patch_embed.backbone.conv1.weight"]));
  const Vit bit({.image = 32,
                 .patch = 1,
                 .dim = 24,
                 .depth = 1,
                 .heads = 2,
                 .backbone = {.kind = BackboneKind::Bit, .width = 32}});
  EXPECT_EQ(bit.input_filters().sizes(), (std::vector<int64_t>{32, 3, 7, 7}));
  EXPECT_NEAR(bit.input_filters()[3].std(/*unbiased=*/false).item<double>(), 1, 1e-3);
}

TEST(Hybrid, AnyVitTakesAnyBackbone) {
  for (const auto* settings :
       {"{patch: 1, backbone: {kind: resnet, blocks: [1, 1], stem: cifar}}",
        "{patch: 2, pool: mean, backbone: {kind: bit, blocks: [1], width: 32}}",
        "{patch: 1, backbone: {kind: resnet, blocks: [1], stem: imagenet}, positions: none}"}) {
    ModelChoice choice("vit_ti16");
    Settings::from_text("{image: 32, dim: 24, heads: 2, hidden: 48, depth: 1, classes: 5}", "test")
        .read_into(choice);
    Settings::from_text(settings, "test").read_into(choice);
    const auto model = choice.build();
    EXPECT_EQ(model->forward(model->example_input(2)).sizes(), (std::vector<int64_t>{2, 5}))
        << settings;
  }
}

TEST(Hybrid, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(refusal("r50_vit_b16", "patch: 4"),
                             "patch 4 does not divide the backbone's feature map of side 14"));
  EXPECT_TRUE(test::contains(refusal("r50_vit_b16", "backbone: {width: 48}"),
                             "width 48 is not a multiple of 32"));
  EXPECT_TRUE(
      test::contains(refusal("r50_vit_b16", "backbone: {blocks: [3, 0]}"), "a stage of 0 blocks"));
  EXPECT_TRUE(
      test::contains(refusal("hybrid_c10_tiny", "backbone: {blocks: []}"), "blocks is empty"));
  EXPECT_TRUE(test::contains(refusal("r50_vit_b16", "backbone: {blocks: [1, 1, 1, 1, 1, 1, 1]}"),
                             "7 stages of blocks; 6 at most"));
  EXPECT_TRUE(
      test::contains(refusal("r50_vit_b16", "backbone: {kind: resent}"), "did you mean 'resnet'?"));
}

}  // namespace vitrine
