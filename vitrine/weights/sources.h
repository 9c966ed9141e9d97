#pragma once

#include "vitrine/weights/importers.h"

namespace vitrine {

/// Wightman's timm (PyTorch image models) and DeiT: ViT with a class token.
Importer timm_vit();

/// ViTForImageClassification of Hugging Face's transformers.
Importer hugging_face_vit();

/// The Sparse Transformers that OpenAI has published (with "Distribution Augmentation for
/// Generative Modeling", Jun et al. 2020).
Importer openai_sparse();

}  // namespace vitrine
