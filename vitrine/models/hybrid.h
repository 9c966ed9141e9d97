#pragma once

// Hybrids of ResNet and ViT: Dosovitskiy et al., "An Image is Worth 16x16 Words" (2021), section
// 3.1; Steiner et al., "How to train your ViT?" (2021). A hybrid is a ViT (models/vit.h) whose
// patches are cut from the feature map of a backbone (models/backbone.h). Faithful: stages, widths,
// weight standardisation, GroupNorm, SAME padding, parameters by timm's names.

#include "vitrine/models/vit.h"

namespace vitrine {

VitConfig r50_vit_b16();
VitConfig r26_vit_s32();
VitConfig r50_vit_l32();
/// Its name counts 16 pixels per patch, but the stem divides by 4 and the patches by 8.
VitConfig r_vit_ti16();
/// For CIFAR-10: vit_c10_tiny on the 8 x 8 feature map of a ResNet's stem and first block.
VitConfig hybrid_c10_tiny();

}  // namespace vitrine
