// ViT and ResNets against torchvision, hybrids against timm, a distilled DeiT against its formulas,
// Swin against torchvision and Microsoft's code: see tests/fixtures/make_models.py, make_hybrid.py,
// make_deit.py and make_swin.py.
#include "tests/support/parity.h"

#include "vitrine/models/resnet.h"
#include "vitrine/models/swin.h"
#include "vitrine/models/vit.h"

namespace vitrine {
namespace {

using test::expect_parity;

}  // namespace

TEST(Parity, ASmallVitEqualsTorchvision) {
  Vit model(
      {.image = 32, .patch = 8, .classes = 10, .dim = 64, .depth = 3, .heads = 4, .hidden = 128});
  expect_parity(model, "vit_small");
}

TEST(Parity, VitB16EqualsTorchvision) {
  Vit model(vit_b16());
  expect_parity(model, "vit_b16");
}

TEST(Parity, ADistilledDeitEqualsItsFormulas) {
  Vit model({.image = 32,
             .patch = 8,
             .classes = 10,
             .dim = 64,
             .depth = 3,
             .heads = 4,
             .hidden = 128,
             .distilled = true});
  expect_parity(model, "small", "deit.json");
  const auto expected = test::noted("deit.json", "small")["heads"];
  const torch::NoGradGuard no_grad;
  const auto heads =
      model.logits_by_head(model.features(test::numbers("input", {3, 3, 32, 32}, 2)));
  for (size_t i = 0; i < heads.size(); ++i) {
    const auto reference =
        torch::tensor(expected.at(i).get<std::vector<double>>(), torch::kFloat).view({3, 10});
    EXPECT_LT((heads[i] - reference).abs().max().item<double>(), test::kOutput) << i;
  }
}

TEST(Parity, ResNet18EqualsTorchvision) {
  auto config = resnet18();
  config.image = 64;
  config.classes = 10;
  ResNet model(config);
  expect_parity(model, "resnet18");
}

TEST(Parity, ResNet50EqualsTorchvision) {
  auto config = resnet50();
  config.image = 64;
  config.classes = 10;
  ResNet model(config);
  expect_parity(model, "resnet50", "models.json", torch::kDouble);
}

/// timm divides kernels by sqrt(var + 1e-8) and has another epsilon in GroupNorm than Google.
VitConfig small_timm_hybrid(int64_t image, int64_t patch, std::vector<int64_t> blocks) {
  return {.image = image,
          .patch = patch,
          .classes = 10,
          .dim = 48,
          .depth = 2,
          .heads = 3,
          .hidden = 96,
          .backbone = {.kind = BackboneKind::Bit,
                       .blocks = std::move(blocks),
                       .width = 32,
                       .standardize = Standardization::Variance,
                       .norm_eps = 1e-5}};
}

TEST(Parity, AHybridEqualsTimm) {
  Vit model(small_timm_hybrid(/*image=*/64, /*patch=*/1, {1, 2}));
  expect_parity(model, "stages", "hybrid.json");
}

TEST(Parity, AHybridWhoseMapsHaveOddSidesEqualsTimm) {
  Vit model(small_timm_hybrid(/*image=*/58, /*patch=*/2, {1, 1}));
  expect_parity(model, "odd", "hybrid.json");
}

TEST(Parity, AHybridOfTheStemAloneEqualsTimm) {
  Vit model(small_timm_hybrid(/*image=*/32, /*patch=*/4, {}));
  expect_parity(model, "stem", "hybrid.json");
}

SwinConfig small_swin(SwinVersion version, std::vector<int64_t> depths, int64_t window) {
  return {.image = 32,
          .patch = 2,
          .classes = 10,
          .dim = 16,
          .depths = std::move(depths),
          .heads = {2, 4, 2},
          .window = window,
          .mlp_ratio = 2,
          .version = version,
          .drop_path = 0};
}

TEST(Parity, ASmallSwinEqualsTorchvision) {
  Swin model(small_swin(SwinVersion::V1, {2, 2, 1}, /*window=*/4));
  expect_parity(model, "small", "swin.json");
}

TEST(Parity, ASmallSwinV2EqualsTorchvision) {
  Swin model(small_swin(SwinVersion::V2, {2, 2, 1}, /*window=*/4));
  expect_parity(model, "small_v2", "swin.json");
}

TEST(Parity, SwinTEqualsTorchvision) {
  auto config = swin_t();
  config.classes = 10;
  Swin model(config);
  expect_parity(model, "swin_t", "swin.json");
}

TEST(Parity, SwinV2TEqualsTorchvision) {
  auto config = swin_v2_t();
  config.classes = 10;
  Swin model(config);
  expect_parity(model, "swin_v2_t", "swin.json");
}

TEST(Parity, ASwinWhoseWindowExceedsItsLastGridEqualsMicrosofts) {
  Swin model(small_swin(SwinVersion::V1, {2, 1, 1}, /*window=*/8));
  expect_parity(model, "microsoft", "swin.json");
}

TEST(Parity, ASwinV2OfAnotherPretrainedWindowEqualsMicrosofts) {
  auto config = small_swin(SwinVersion::V2, {2, 1, 1}, /*window=*/8);
  config.pretrained_windows = {6, 6, 3};
  Swin model(config);
  expect_parity(model, "microsoft_v2", "swin.json");
}

}  // namespace vitrine
