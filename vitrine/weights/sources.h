#pragma once

// The sources of published weights, family by family.

#include <string>
#include <utility>
#include <vector>

#include "vitrine/weights/importers.h"

namespace vitrine {

using NamedImporter = std::pair<std::string, Importer>;

/// With the mean and standard deviation of ImageNet, or 0.5 for images that are not in colour.
Preprocess imagenet_preprocess(const ImageShape& shape, int64_t resize,
                               Interpolation interpolation);

/// ViT with a class token: timm (PyTorch image models), DeiT; Hugging Face's transformers.
std::vector<NamedImporter> vit_importers();

/// Hybrids of ResNet and ViT: timm; Google. They come before ViT, whose names they have too.
std::vector<NamedImporter> hybrid_importers();

/// Swin and Swin v2: Microsoft, timm, Hugging Face's transformers, torchvision. They come before
/// ViT, some of whose names those of Hugging Face have.
std::vector<NamedImporter> swin_importers();

/// ResNet: torchvision, timm; the first ResNet-50 of Keras.
std::vector<NamedImporter> resnet_importers();

/// CCT: the authors' files.
std::vector<NamedImporter> cct_importers();

/// T2T-ViT: the authors' files, by kind of token layer.
std::vector<NamedImporter> t2t_vit_importers();

/// TNT: the authors' files; timm.
std::vector<NamedImporter> tnt_importers();

/// iGPT: Hugging Face's transformers.
std::vector<NamedImporter> igpt_importers();

/// PVT: the authors' files; Hugging Face's transformers. PVT v2: the authors' files; timm.
std::vector<NamedImporter> pvt_importers();

/// CvT: the authors' files; Hugging Face's transformers.
std::vector<NamedImporter> cvt_importers();

/// The Sparse Transformers that OpenAI has published (with "Distribution Augmentation for
/// Generative Modeling", Jun et al. 2020).
std::vector<NamedImporter> openai_sparse_importers();

}  // namespace vitrine
