#pragma once

#include <torch/types.h>

namespace vitrine {

/// While it lives, networks on this thread note the features that lie on the image: tokens
/// (B, T, C) or a feature map (B, C, H, W). The last note stays. It is what the readout averages;
/// where that reads a class token alone, it is what the attention of the last block reads, the last
/// features through which every part of the image reaches the answer. Grad-CAM needs no more.
class FeatureCapture {
 public:
  FeatureCapture();
  FeatureCapture(const FeatureCapture&) = delete;
  FeatureCapture& operator=(const FeatureCapture&) = delete;
  ~FeatureCapture();

  /// Whether one lives on this thread.
  static bool wanted();
  /// For layers: hands the features to the innermost capture of this thread, if there is one.
  static void note(const torch::Tensor& features);

  torch::Tensor features;  // undefined if nothing was noted

 private:
  FeatureCapture* outer_;
};

}  // namespace vitrine
