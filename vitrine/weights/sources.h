#pragma once

// The sources of published weights, family by family.

#include <string>
#include <utility>
#include <vector>

#include "vitrine/weights/importers.h"

namespace vitrine {

using NamedImporter = std::pair<std::string, Importer>;

/// ViT with a class token: timm (PyTorch image models), DeiT; Hugging Face's transformers.
std::vector<NamedImporter> vit_importers();

/// Hybrids of ResNet and ViT: timm; Google. They come before ViT, whose names they have too.
std::vector<NamedImporter> hybrid_importers();

/// ResNet: torchvision, timm; the first ResNet-50 of Keras.
std::vector<NamedImporter> resnet_importers();

/// The Sparse Transformers that OpenAI has published (with "Distribution Augmentation for
/// Generative Modeling", Jun et al. 2020).
std::vector<NamedImporter> openai_sparse_importers();

}  // namespace vitrine
