// Hybrids of ResNet and ViT by others' names: the tables of ViT with the rows of the backbone.

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char* kStemKernel = "patch_embed.backbone.stem.conv.weight";

constexpr const char *kTimmVit = "timm_vit", *kGoogleVit = "google_vit";

const Placeholder kThree = {"{n}", {{"1", "1"}, {"2", "2"}, {"3", "3"}}};

/// The importer of ViT from the same source.
Importer vit_importer(const std::string& name) {
  for (const auto& [known, importer] : vit_importers())
    if (known == name) return importer;
  fail("import: there is no source '{}'", name);
}

/// A map of ViT that is recognised by its backbone, too.
NameMap with_backbone(NameMap map, const std::string& source, const Names& signature,
                      const std::vector<NameRow>& rows) {
  map.source = source;
  map.signature.insert(map.signature.end(), signature.begin(), signature.end());
  map.placeholders.push_back(kThree);
  map.rows.insert(map.rows.end(), rows.begin(), rows.end());
  return map;
}

/// timm has no "stem" in the names of a backbone that is nothing else.
NameMap timm_hybrid_names(bool stem_alone) {
  const std::string root = stem_alone ? "patch_embed.backbone" : "patch_embed.backbone.stem";
  std::vector<NameRow> rows = {
      {root + ".conv.weight", kStemKernel},
      {root + ".norm.{wb}", "patch_embed.backbone.stem.norm.{wb}"},
  };
  if (!stem_alone)
    for (const auto* name : {"blocks.{u}.conv{n}.weight", "blocks.{u}.norm{n}.{wb}",
                             "blocks.0.downsample.conv.weight", "blocks.0.downsample.norm.{wb}"}) {
      const auto same = std::string("patch_embed.backbone.stages.{s}.") + name;
      rows.push_back({same, same});
    }
  return with_backbone(vit_importer(kTimmVit).map,
                       stem_alone ? "a ViT with a ResNet's stem, with the names of timm"
                                  : "a hybrid of ResNet and ViT with the names of timm",
                       root + ".conv.weight", rows);
}

NameMap google_hybrid_names() {
  using enum Step;
  return with_backbone(vit_importer(kGoogleVit).map, "a hybrid of ResNet and ViT of Google (.npz)",
                       "conv_root/kernel",
                       {
                           {"conv_root/kernel", kStemKernel, {HwioToOihw}},
                           {"gn_root/{norm}", "patch_embed.backbone.stem.norm.{norm}", {FromRank4}},
                           {"block{s+1}/unit{u+1}/conv{n}/kernel",
                            "patch_embed.backbone.stages.{s}.blocks.{u}.conv{n}.weight",
                            {HwioToOihw}},
                           {"block{s+1}/unit{u+1}/gn{n}/{norm}",
                            "patch_embed.backbone.stages.{s}.blocks.{u}.norm{n}.{norm}",
                            {FromRank4}},
                           {"block{s+1}/unit1/conv_proj/kernel",
                            "patch_embed.backbone.stages.{s}.blocks.0.downsample.conv.weight",
                            {HwioToOihw}},
                           {"block{s+1}/unit1/gn_proj/{norm}",
                            "patch_embed.backbone.stages.{s}.blocks.0.downsample.norm.{norm}",
                            {FromRank4}},
                       });
}

/// The registered hybrid of this embedding dimension.
std::string hybrid_of(int64_t dim) {
  constexpr std::pair<int64_t, const char*> kVariants[] = {
      {192, "r_vit_ti16"}, {384, "r26_vit_s32"}, {1024, "r50_vit_l32"}};
  for (const auto& [known, name] : kVariants)
    if (known == dim) return name;
  return "r50_vit_b16";
}

/// How a source standardises kernels and its epsilon of GroupNorm.
struct BackboneSource {
  const char* standardize;
  double norm_eps;
};

/// What the importer of ViT says, which takes the feature map for the image.
ModelDescription describe_hybrid(const MappedFile& file, const std::string& vit,
                                 const BackboneSource& source) {
  const std::string image = "image=";
  const auto stem = file.our_shape(kStemKernel, 4);  // (width, channels, 7, 7)
  constexpr int64_t kMostHalvings = 16;              // more than any model can have
  const auto stride =
      int64_t{4} << std::clamp<int64_t>(std::ssize(file.units()) - 1, 0, kMostHalvings);
  auto result = vit_importer(vit).describe(file);
  result.model = hybrid_of(file.our_shape("patch_embed.proj.weight", 4)[0]);
  for (auto& [key, size] : result.sizes)
    if (key == "channels") size = stem[1];
  for (auto& setting : result.settings)
    if (setting.starts_with(image))
      setting = fmt::format("{}{}", image, stride * std::stoll(setting.substr(image.size())));
  for (const auto& setting : {fmt::format("backbone.blocks=[{}]", fmt::join(file.units(), ", ")),
                              fmt::format("backbone.width={}", stem[0]),
                              fmt::format("backbone.standardize={}", source.standardize),
                              fmt::format("backbone.norm_eps={}", source.norm_eps)})
    result.settings.push_back(setting);
  return result;
}

ModelDescription describe_timm_hybrid(const MappedFile& file) {
  return describe_hybrid(file, kTimmVit, {.standardize = "variance", .norm_eps = 1e-5});
}

ModelDescription describe_google_hybrid(const MappedFile& file) {
  return describe_hybrid(file, kGoogleVit, {.standardize = "std", .norm_eps = 1e-6});
}

/// What the importer of ViT does, for these names.
Importer hybrid_importer(const std::string& vit, NameMap map,
                         ModelDescription (*describe)(const MappedFile&)) {
  auto importer = vit_importer(vit);
  importer.map = std::move(map);
  importer.describe = describe;
  return importer;
}

}  // namespace

std::vector<NamedImporter> hybrid_importers() {
  return {{"timm_hybrid", hybrid_importer(kTimmVit, timm_hybrid_names(/*stem_alone=*/false),
                                          describe_timm_hybrid)},
          {"timm_hybrid_stem",
           hybrid_importer(kTimmVit, timm_hybrid_names(/*stem_alone=*/true), describe_timm_hybrid)},
          {"google_hybrid",
           hybrid_importer(kGoogleVit, google_hybrid_names(), describe_google_hybrid)}};
}

}  // namespace vitrine
