#include "vitrine/models/hybrid.h"

namespace vitrine {
namespace {

VitConfig on_bit(VitConfig c, std::vector<int64_t> blocks, int64_t patch) {
  c.patch = patch;
  c.backbone = {.kind = BackboneKind::Bit, .blocks = std::move(blocks)};
  return c;
}

}  // namespace

VitConfig r50_vit_b16() { return on_bit(vit_b16(), {3, 4, 9}, /*patch=*/1); }

VitConfig r26_vit_s32() { return on_bit(vit_s16(), {2, 2, 2, 2}, /*patch=*/1); }

VitConfig r50_vit_l32() { return on_bit(vit_l16(), {3, 4, 6, 3}, /*patch=*/1); }

VitConfig r_vit_ti16() { return on_bit(vit_ti16(), {}, /*patch=*/8); }

VitConfig hybrid_c10_tiny() {
  auto c = vit_c10_tiny();
  c.patch = 1;
  c.backbone = {.kind = BackboneKind::ResNet, .blocks = {1}};
  return c;
}

}  // namespace vitrine
