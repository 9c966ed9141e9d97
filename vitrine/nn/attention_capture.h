#pragma once

#include <torch/types.h>

#include <vector>

namespace vitrine {

/// While it lives, every attention layer that runs on this thread hands over its weights,
/// (B, H, T, T), in the order of the forward pass. Without one, a layer only tests a pointer.
class AttentionCapture {
 public:
  AttentionCapture();
  AttentionCapture(const AttentionCapture&) = delete;
  AttentionCapture& operator=(const AttentionCapture&) = delete;
  ~AttentionCapture();

  /// The innermost capture of this thread, or null.
  static AttentionCapture* current();

  std::vector<torch::Tensor> layers;

 private:
  AttentionCapture* outer_;
};

}  // namespace vitrine
