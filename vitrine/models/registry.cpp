#include "vitrine/models/registry.h"

#include "vitrine/models/addition.h"
#include "vitrine/models/cct.h"
#include "vitrine/models/cvt.h"
#include "vitrine/models/hybrid.h"
#include "vitrine/models/igpt.h"
#include "vitrine/models/pvt.h"
#include "vitrine/models/pvt_v2.h"
#include "vitrine/models/resnet.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/models/swin.h"
#include "vitrine/models/t2t_vit.h"
#include "vitrine/models/tnt.h"
#include "vitrine/models/wave.h"
#include "vitrine/models/word_transformer.h"

namespace vitrine {
namespace {

template <typename ModelImpl, typename Config>
class TypedBlueprint : public ModelBlueprint {
 public:
  explicit TypedBlueprint(Config config) : config_(std::move(config)) {}
  void visit(Fields& f) override { config_.visit(f); }
  void validate() const override { config_.validate(); }
  std::unique_ptr<ModelBlueprint> clone() const override {
    return std::make_unique<TypedBlueprint>(config_);
  }
  std::shared_ptr<Model> build() const override {
    config_.validate();
    return std::make_shared<ModelImpl>(config_);
  }

 private:
  Config config_;
};

template <typename ModelImpl, typename Config>
ModelEntry entry(std::string description, Config config) {
  return {std::move(description), "",
          std::make_shared<TypedBlueprint<ModelImpl, Config>>(std::move(config))};
}

ModelEntry alias(std::string of, ModelEntry entry) {
  entry.alias_of = std::move(of);
  return entry;
}

VitConfig at_384(VitConfig c) {
  c.image = 384;
  return c;
}

}  // namespace

const Registry<ModelEntry>& models() {
  static const auto registry = [] {
    Registry<ModelEntry> r("model");
    r.add("vit_ti16", entry<Vit>("ViT-Ti/16: 12 blocks of 192", vit_ti16()));
    r.add("vit_s16", entry<Vit>("ViT-S/16: 12 blocks of 384", vit_s16()));
    r.add("vit_b16", entry<Vit>("ViT-B/16: 12 blocks of 768", vit_b16()));
    r.add("vit_b32", entry<Vit>("ViT-B/32: 12 blocks of 768", vit_b32()));
    r.add("vit_l16", entry<Vit>("ViT-L/16: 24 blocks of 1024", vit_l16()));
    r.add("vit_h14", entry<Vit>("ViT-H/14: 32 blocks of 1280", vit_h14()));
    r.add("deit_ti16_distilled",
          entry<Vit>("DeiT-Ti/16, distilled: ViT-Ti/16 with a second token and head",
                     deit_ti16_distilled()));
    r.add("deit_s16_distilled",
          entry<Vit>("DeiT-S/16, distilled: ViT-S/16 with a second token and head",
                     deit_s16_distilled()));
    r.add("deit_b16_distilled",
          entry<Vit>("DeiT-B/16, distilled: ViT-B/16 with a second token and head",
                     deit_b16_distilled()));
    r.add("vit_c10_302m", entry<Vit>("ViT for CIFAR-10: 24 blocks of 1024", vit_c10_302m()));
    r.add("vit_c10_small", entry<Vit>("ViT for CIFAR-10: 9 blocks of 192", vit_c10_small()));
    r.add("vit_c10_tiny", entry<Vit>("ViT for CIFAR-10: 4 blocks of 128", vit_c10_tiny()));
    r.add("r50_vit_b16", entry<Vit>("R50+ViT-B/16: ResNet, then 12 blocks of 768", r50_vit_b16()));
    r.add("r26_vit_s32", entry<Vit>("R26+ViT-S/32: ResNet, then 12 blocks of 384", r26_vit_s32()));
    r.add("r50_vit_l32", entry<Vit>("R50+ViT-L/32: ResNet, then 24 blocks of 1024", r50_vit_l32()));
    r.add("r_vit_ti16",
          entry<Vit>("R+ViT-Ti/16: ResNet stem, then 12 blocks of 192", r_vit_ti16()));
    r.add("hybrid_c10_tiny",
          entry<Vit>("hybrid for CIFAR-10: ResNet block, then 4 blocks of 128", hybrid_c10_tiny()));
    r.add("swin_t", entry<Swin>("Swin-T: stages of 2, 2, 6 and 2 blocks, 96 wide", swin_t()));
    r.add("swin_s", entry<Swin>("Swin-S: stages of 2, 2, 18 and 2 blocks, 96 wide", swin_s()));
    r.add("swin_b", entry<Swin>("Swin-B: stages of 2, 2, 18 and 2 blocks, 128 wide", swin_b()));
    r.add("swin_l", entry<Swin>("Swin-L: stages of 2, 2, 18 and 2 blocks, 192 wide", swin_l()));
    r.add("swin_v2_t", entry<Swin>("Swin v2-T: as Swin-T, with cosine attention", swin_v2_t()));
    r.add("swin_v2_s", entry<Swin>("Swin v2-S: as Swin-S, with cosine attention", swin_v2_s()));
    r.add("swin_v2_b", entry<Swin>("Swin v2-B: as Swin-B, with cosine attention", swin_v2_b()));
    r.add("swin_c10", entry<Swin>("Swin for CIFAR-10: 3 stages of 2 blocks, 48 wide", swin_c10()));
    r.add("swin_v2_c10",
          entry<Swin>("Swin v2 for CIFAR-10: 3 stages of 2 blocks, 48 wide", swin_v2_c10()));
    r.add("cct_2_3x2",
          entry<Cct>("compact convolutional transformer: 2 blocks of 128", cct_2_3x2()));
    r.add("cct_4_3x2",
          entry<Cct>("CCT-4/3x2: two convolutions, then 4 blocks of 128", cct_4_3x2()));
    r.add("cct_6_3x1", entry<Cct>("CCT-6/3x1: a convolution, then 6 blocks of 256", cct_6_3x1()));
    r.add("cct_7_3x1", entry<Cct>("CCT-7/3x1: a convolution, then 7 blocks of 256", cct_7_3x1()));
    r.add("cct_14_7x2",
          entry<Cct>("CCT-14/7x2: two convolutions, then 14 blocks of 384", cct_14_7x2()));
    r.add("t2t_vit_7",
          entry<T2tVit>("T2T-ViT-7: performer tokens, then 7 blocks of 256", t2t_vit_7()));
    r.add("t2t_vit_10",
          entry<T2tVit>("T2T-ViT-10: performer tokens, then 10 blocks of 256", t2t_vit_10()));
    r.add("t2t_vit_12",
          entry<T2tVit>("T2T-ViT-12: performer tokens, then 12 blocks of 256", t2t_vit_12()));
    r.add("t2t_vit_14",
          entry<T2tVit>("T2T-ViT-14: performer tokens, then 14 blocks of 384", t2t_vit_14()));
    r.add("t2t_vit_19",
          entry<T2tVit>("T2T-ViT-19: performer tokens, then 19 blocks of 448", t2t_vit_19()));
    r.add("t2t_vit_24",
          entry<T2tVit>("T2T-ViT-24: performer tokens, then 24 blocks of 512", t2t_vit_24()));
    r.add("t2t_vit_t_14",
          entry<T2tVit>("T2T-ViT_t-14: transformer tokens, then 14 blocks of 384", t2t_vit_t_14()));
    r.add("t2t_vit_t_19",
          entry<T2tVit>("T2T-ViT_t-19: transformer tokens, then 19 blocks of 448", t2t_vit_t_19()));
    r.add("t2t_vit_t_24",
          entry<T2tVit>("T2T-ViT_t-24: transformer tokens, then 24 blocks of 512", t2t_vit_t_24()));
    r.add("t2t_c10",
          entry<T2tVit>("T2T-ViT for CIFAR-10: performer tokens, then 4 blocks of 128", t2t_c10()));
    r.add("tnt_s", entry<Tnt>("TNT-S: 12 blocks of 384, with words of 24", tnt_s()));
    r.add("tnt_b", entry<Tnt>("TNT-B: 12 blocks of 640, with words of 40", tnt_b()));
    r.add("tnt_c10", entry<Tnt>("TNT for CIFAR-10: 4 blocks of 128, with words of 24", tnt_c10()));
    r.add("resnet18", entry<ResNet>("ResNet-18", resnet18()));
    r.add("resnet34", entry<ResNet>("ResNet-34", resnet34()));
    r.add("resnet50", entry<ResNet>("ResNet-50", resnet50()));
    r.add("resnet101", entry<ResNet>("ResNet-101", resnet101()));
    r.add("resnet152", entry<ResNet>("ResNet-152", resnet152()));
    r.add("resnet_c10", entry<ResNet>("ResNet for CIFAR-10: ResNet-18 without its last stage",
                                      resnet_c10()));
    r.add("pvt_tiny",
          entry<Pvt>("PVT-Tiny: pyramid of 4 stages, 8 blocks of 64 to 512", pvt_tiny()));
    r.add("pvt_small",
          entry<Pvt>("PVT-Small: pyramid of 4 stages, 16 blocks of 64 to 512", pvt_small()));
    r.add("pvt_medium",
          entry<Pvt>("PVT-Medium: pyramid of 4 stages, 28 blocks of 64 to 512", pvt_medium()));
    r.add("pvt_large",
          entry<Pvt>("PVT-Large: pyramid of 4 stages, 41 blocks of 64 to 512", pvt_large()));
    r.add("pvt_c10",
          entry<Pvt>("PVT for CIFAR-10: pyramid of 4 stages, 7 blocks of 48 to 192", pvt_c10()));
    r.add("pvt_v2_b0",
          entry<PvtV2>("PVT v2-B0: pyramid of 4 stages, 8 blocks of 32 to 256", pvt_v2_b0()));
    r.add("pvt_v2_b1",
          entry<PvtV2>("PVT v2-B1: pyramid of 4 stages, 8 blocks of 64 to 512", pvt_v2_b1()));
    r.add("pvt_v2_b2",
          entry<PvtV2>("PVT v2-B2: pyramid of 4 stages, 16 blocks of 64 to 512", pvt_v2_b2()));
    r.add("pvt_v2_b3",
          entry<PvtV2>("PVT v2-B3: pyramid of 4 stages, 28 blocks of 64 to 512", pvt_v2_b3()));
    r.add("pvt_v2_b4",
          entry<PvtV2>("PVT v2-B4: pyramid of 4 stages, 41 blocks of 64 to 512", pvt_v2_b4()));
    r.add("pvt_v2_b5",
          entry<PvtV2>("PVT v2-B5: pyramid of 4 stages, 52 blocks of 64 to 512", pvt_v2_b5()));
    r.add("pvt_v2_c10",
          entry<PvtV2>("PVT v2 for CIFAR-10: pyramid of 4 stages, 6 blocks of 48 to 192",
                       pvt_v2_c10()));
    r.add("cvt_13", entry<Cvt>("CvT-13: 3 convolutional stages, 13 blocks of 64 to 384", cvt_13()));
    r.add("cvt_21", entry<Cvt>("CvT-21: 3 convolutional stages, 21 blocks of 64 to 384", cvt_21()));
    r.add("cvt_w24",
          entry<Cvt>("CvT-W24: 3 convolutional stages, 24 blocks of 192 to 1024", cvt_w24()));
    r.add("cvt_13_nas",
          entry<Cvt>("CvT-13-NAS: published outline and size, its blocks are ours", cvt_13_nas()));
    r.add("cvt_c10",
          entry<Cvt>("CvT for CIFAR-10: 3 convolutional stages, 5 blocks of 48 to 192", cvt_c10()));
    r.add("addition_cnn",
          entry<AdditionCnn>("adds two two-digit numbers (CNN)", AdditionCnnConfig()));
    r.add("addition_transformer",
          entry<AdditionTransformer>("adds two two-digit numbers (Transformer)",
                                     AdditionTransformerConfig()));
    r.add("wave_transformer",
          entry<WaveTransformer>("predicts the next value of a sine wave (Transformer)",
                                 WaveTransformerConfig()));
    r.add("wave_rnn", entry<WaveRnn>("predicts the next value of a sine wave (RNN, LSTM, GRU)",
                                     WaveRnnConfig()));
    r.add("word_transformer",
          entry<WordTransformer>("predicts the next word (small causal language model)",
                                 WordTransformerConfig()));
    r.add("sparse_c10",
          entry<SparseTransformer>("Sparse Transformer over image bytes: 128 blocks of 256",
                                   sparse_c10()));
    r.add("sparse_c10_small",
          entry<SparseTransformer>("Sparse Transformer over image bytes: 16 blocks of 256",
                                   sparse_c10_small()));
    r.add("sparse_c10_tiny",
          entry<SparseTransformer>("Sparse Transformer over image or text bytes: 4 blocks of 64",
                                   sparse_c10_tiny()));
    r.add("igpt_s", entry<Igpt>("iGPT-S over colours of a palette: 24 blocks of 512", igpt_s()));
    r.add("igpt_m", entry<Igpt>("iGPT-M over colours of a palette: 36 blocks of 1024", igpt_m()));
    r.add("igpt_l", entry<Igpt>("iGPT-L over colours of a palette: 48 blocks of 1536", igpt_l()));
    r.add("igpt_c10",
          entry<Igpt>("iGPT for CIFAR-10 at 16 x 16 pixels: 4 blocks of 128", igpt_c10()));

    r.add("vit_tiny_patch16_224", alias("vit_ti16", r.get("vit_ti16")));
    r.add("vit_small_patch16_224", alias("vit_s16", r.get("vit_s16")));
    r.add("vit_base_patch16_224", alias("vit_b16", r.get("vit_b16")));
    r.add("vit_base_patch32_224", alias("vit_b32", r.get("vit_b32")));
    r.add("vit_large_patch16_224", alias("vit_l16", r.get("vit_l16")));
    r.add("vit_huge_patch14_224", alias("vit_h14", r.get("vit_h14")));
    r.add("deit_ti16", alias("vit_ti16", r.get("vit_ti16")));
    r.add("deit_s16", alias("vit_s16", r.get("vit_s16")));
    r.add("deit_b16", alias("vit_b16", r.get("vit_b16")));
    r.add("deit_tiny_distilled_patch16_224",
          alias("deit_ti16_distilled", r.get("deit_ti16_distilled")));
    r.add("deit_small_distilled_patch16_224",
          alias("deit_s16_distilled", r.get("deit_s16_distilled")));
    r.add("deit_base_distilled_patch16_224",
          alias("deit_b16_distilled", r.get("deit_b16_distilled")));
    r.add("vit_base_r50_s16_224", alias("r50_vit_b16", r.get("r50_vit_b16")));
    r.add("vit_small_r26_s32_224", alias("r26_vit_s32", r.get("r26_vit_s32")));
    r.add("vit_large_r50_s32_224", alias("r50_vit_l32", r.get("r50_vit_l32")));
    r.add("vit_tiny_r_s16_p8_224", alias("r_vit_ti16", r.get("r_vit_ti16")));
    r.add("tnt_s_patch16_224", alias("tnt_s", r.get("tnt_s")));
    r.add("tnt_b_patch16_224", alias("tnt_b", r.get("tnt_b")));
    r.add("vit_base_r50_s16_384",
          alias("r50_vit_b16 image=384", entry<Vit>("R50+ViT-B/16 at 384", at_384(r50_vit_b16()))));
    r.add("vit_base_patch16_384",
          alias("vit_b16 image=384", entry<Vit>("ViT-B/16 at 384", at_384(vit_b16()))));
    r.add("vit_large_patch16_384",
          alias("vit_l16 image=384", entry<Vit>("ViT-L/16 at 384", at_384(vit_l16()))));
    r.add("swin_tiny_patch4_window7_224", alias("swin_t", r.get("swin_t")));
    r.add("swin_small_patch4_window7_224", alias("swin_s", r.get("swin_s")));
    r.add("swin_base_patch4_window7_224", alias("swin_b", r.get("swin_b")));
    r.add("swin_large_patch4_window7_224", alias("swin_l", r.get("swin_l")));
    r.add("swinv2_tiny_window8_256", alias("swin_v2_t", r.get("swin_v2_t")));
    r.add("swinv2_small_window8_256", alias("swin_v2_s", r.get("swin_v2_s")));
    r.add("swinv2_base_window8_256", alias("swin_v2_b", r.get("swin_v2_b")));
    return r;
  }();
  return registry;
}

std::unique_ptr<ModelBlueprint> ModelBlueprint::make(const std::string& name) {
  return models().get(name).blueprint->clone();
}

std::shared_ptr<Model> ModelChoice::build() const { return (*this)->build(); }

ModelChoice read_model(const std::string& yaml, const std::vector<std::string>& settings,
                       const std::string& where) {
  auto choice = read_choice<ModelChoice>(yaml, settings, where);
  as_usage([&] { choice->validate(); });
  return choice;
}

}  // namespace vitrine
