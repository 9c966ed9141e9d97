#include "vitrine/models/registry.h"

#include "vitrine/models/addition.h"
#include "vitrine/models/cct.h"
#include "vitrine/models/hybrid.h"
#include "vitrine/models/resnet.h"
#include "vitrine/models/sparse_transformer.h"
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
    r.add("vit_c10_302m", entry<Vit>("ViT for CIFAR-10: 24 blocks of 1024", vit_c10_302m()));
    r.add("vit_c10_small", entry<Vit>("ViT for CIFAR-10: 9 blocks of 192", vit_c10_small()));
    r.add("r50_vit_b16", entry<Vit>("R50+ViT-B/16: ResNet, then 12 blocks of 768", r50_vit_b16()));
    r.add("r26_vit_s32", entry<Vit>("R26+ViT-S/32: ResNet, then 12 blocks of 384", r26_vit_s32()));
    r.add("r50_vit_l32", entry<Vit>("R50+ViT-L/32: ResNet, then 24 blocks of 1024", r50_vit_l32()));
    r.add("r_vit_ti16",
          entry<Vit>("R+ViT-Ti/16: ResNet stem, then 12 blocks of 192", r_vit_ti16()));
    r.add("hybrid_c10_small",
          entry<Vit>("hybrid for CIFAR-10: ResNet, then 6 blocks of 192", hybrid_c10_small()));
    r.add("cct_2_3x2",
          entry<Cct>("compact convolutional transformer: 2 blocks of 128", cct_2_3x2()));
    r.add("resnet18", entry<ResNet>("ResNet-18", resnet18()));
    r.add("resnet34", entry<ResNet>("ResNet-34", resnet34()));
    r.add("resnet50", entry<ResNet>("ResNet-50", resnet50()));
    r.add("resnet101", entry<ResNet>("ResNet-101", resnet101()));
    r.add("resnet152", entry<ResNet>("ResNet-152", resnet152()));
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

    r.add("vit_tiny_patch16_224", alias("vit_ti16", r.get("vit_ti16")));
    r.add("vit_small_patch16_224", alias("vit_s16", r.get("vit_s16")));
    r.add("vit_base_patch16_224", alias("vit_b16", r.get("vit_b16")));
    r.add("vit_base_patch32_224", alias("vit_b32", r.get("vit_b32")));
    r.add("vit_large_patch16_224", alias("vit_l16", r.get("vit_l16")));
    r.add("vit_base_r50_s16_224", alias("r50_vit_b16", r.get("r50_vit_b16")));
    r.add("vit_small_r26_s32_224", alias("r26_vit_s32", r.get("r26_vit_s32")));
    r.add("vit_large_r50_s32_224", alias("r50_vit_l32", r.get("r50_vit_l32")));
    r.add("vit_tiny_r_s16_p8_224", alias("r_vit_ti16", r.get("r_vit_ti16")));
    r.add("vit_base_r50_s16_384",
          alias("r50_vit_b16 image=384", entry<Vit>("R50+ViT-B/16 at 384", at_384(r50_vit_b16()))));
    r.add("vit_base_patch16_384",
          alias("vit_b16 image=384", entry<Vit>("ViT-B/16 at 384", at_384(vit_b16()))));
    r.add("vit_large_patch16_384",
          alias("vit_l16 image=384", entry<Vit>("ViT-L/16 at 384", at_384(vit_l16()))));
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
