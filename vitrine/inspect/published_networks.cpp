#include "vitrine/inspect/published_networks.h"

#include <fmt/format.h>

#include <cmath>

#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"

namespace vitrine {
namespace {

// Why a count here is not the reference's.
constexpr auto
    kCutOff = "the reference cuts off the decimals",
    kVitLarge =
        "ViT's paper gives 307M for ViT-Large, whatever its patches; with patches of 16 and "
        "1000 classes the published weights have the count here, with patches of 32 306.5M",
    kResnet152 =
        "ResNet's paper gives 11.3 G, which the reference cuts off; the bottlenecks here stride in "
        "their 3 x 3 convolution, as torchvision's do (11.5 G)",
    kPvtSmall = "PVT's paper rounds to 24.5M, and the reference rounds that once more",
    kT2t14 =
        "the published weights hold 21.54M numbers; 75,648 of them are the table of fixed "
        "positions, which do not learn",
    kTntB =
        "the authors' 65.6M include `outer_tokens`, 125,440 numbers that their network never "
        "reads",
    kCvtNas =
        "published are the size and an outline: stride 2 and MLP ratio 2 first and last, stride 1 "
        "and ratio 4 in most layers between; which of the 13 blocks these are is our choice, so "
        "expect no such accuracy",
    kSwinT = "the reference rounds up; the authors' repository has 28M, and 81.2 % for its weights",
    kSwinS = "the authors' repository has 83.2 % for its weights", kSwin = "Swin, table 1";

}  // namespace

// Wu et al., "CvT: Introducing Convolutions to Vision Transformers" (2021), table 3, the networks
// trained on ImageNet-1k; Liu et al., "Swin Transformer" (2021), table 1 (a).
const std::vector<PublishedNetwork>& published_networks() {
  static const std::vector<PublishedNetwork> rows = {
      {"ResNet-50", "resnet50", 224, 25, 4.1, 76.2, 82.5, 63.3, kCutOff},
      {"ResNet-101", "resnet101", 224, 45, 7.9, 77.4, 83.7, 65.7},
      {"ResNet-152", "resnet152", 224, 60, 11, 78.3, 84.1, 67.0, kResnet152},
      {"ViT-B/16", "vit_b16", 384, 86, 55.5, 77.9, 83.6, {}, kCutOff},
      {"ViT-L/16", "vit_l16", 384, 307, 191.1, 76.5, 82.2, {}, kVitLarge},
      {"DeiT-S", "deit_s16", 224, 22, 4.6, 79.8, 85.7, 68.5},
      {"DeiT-B", "deit_b16", 224, 86, 17.6, 81.8, 86.7, 71.5, kCutOff},
      {"PVT-Small", "pvt_small", 224, 25, 3.8, 79.8, {}, {}, kPvtSmall},
      {"PVT-Medium", "pvt_medium", 224, 44, 6.7, 81.2},
      {"PVT-Large", "pvt_large", 224, 61, 9.8, 81.7},
      {"T2T-ViT_t-14", "t2t_vit_t_14", 224, 22, 6.1, 80.7, {}, {}, kT2t14},
      {"T2T-ViT_t-19", "t2t_vit_t_19", 224, 39, 9.8, 81.4},
      {"T2T-ViT_t-24", "t2t_vit_t_24", 224, 64, 15.0, 82.2},
      {"TNT-S", "tnt_s", 224, 24, 5.2, 81.3},
      {"TNT-B", "tnt_b", 224, 66, 14.1, 82.8, {}, {}, kTntB},
      {"CvT-13", "cvt_13", 224, 20, 4.5, 81.6, 86.7, 70.4},
      {"CvT-21", "cvt_21", 224, 32, 7.1, 82.5, 87.2, 71.3},
      {"CvT-13 at 384", "cvt_13", 384, 20, 16.3, 83.0, 87.9, 71.9},
      {"CvT-21 at 384", "cvt_21", 384, 32, 24.9, 83.3, 87.7, 71.9},
      {"CvT-13-NAS", "cvt_13_nas", 224, 18, 4.1, 82.2, 87.5, 71.3, kCvtNas},
      {"Swin-T", "swin_t", 224, 29, 4.5, 81.3, {}, {}, kSwinT, kSwin},
      {"Swin-S", "swin_s", 224, 50, 8.7, 83.0, {}, {}, kSwinS, kSwin},
      {"Swin-B", "swin_b", 224, 88, 15.4, 83.5, {}, {}, "", kSwin},
  };
  return rows;
}

bool ComparedNetwork::parameters_differ() const {
  return std::round(static_cast<double>(parameters) / 1e6) != published.parameters;
}

bool ComparedNetwork::multiply_adds_differ() const {
  const double giga = static_cast<double>(multiply_adds) / 1e9;
  return std::abs(giga - published.multiply_adds) > 0.03 * published.multiply_adds;
}

ComparedNetwork compared(const PublishedNetwork& row) {
  const auto summary = summarize(
      read_model("name: " + row.model, {fmt::format("image={}", row.image)}, "table of networks"));
  return {row, summary.parameters, summary.multiply_adds};
}

}  // namespace vitrine
