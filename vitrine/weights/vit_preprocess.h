#pragma once

// What the sources of ViT do to an image of any size.

#include "vitrine/data/config.h"

namespace vitrine {

struct ImageShape;

/// timm crops nine tenths at 224 pixels and everything at 384.
Preprocess timm_preprocess(const ImageShape& shape);

/// The same with the statistics of ImageNet.
Preprocess deit_preprocess(const ImageShape& shape);

/// 256 pixels for 224. The file alone does not tell: in a folder, preprocessor_config.json decides.
Preprocess hugging_face_preprocess(const ImageShape& shape);

/// 256 pixels for 224; the larger ones (SWAG) see the whole image.
Preprocess torchvision_preprocess(const ImageShape& shape);

/// The image is squeezed into the square.
Preprocess google_preprocess(const ImageShape& shape);

}  // namespace vitrine
