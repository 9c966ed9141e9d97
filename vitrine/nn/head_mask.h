#pragma once

#include <vector>

#include "vitrine/nn/attention_capture.h"

namespace vitrine {

/// Heads of attention layers, which are counted from 0 in the order of the forward pass.
struct AttentionHead {
  int64_t layer = 0, head = kAllHeads;

  static constexpr int64_t kAllHeads = -1;
};

/// While it lives, the heads of attention layers on this thread that it names add nothing: their
/// weights become 0 before the values are mixed by them. It captures the weights for that, so
/// layers that never hold them throw, as with any `AttentionCapture`. For inference only.
class HeadMask {
 public:
  explicit HeadMask(std::vector<AttentionHead> off);
  HeadMask(const HeadMask&) = delete;
  HeadMask& operator=(const HeadMask&) = delete;
  ~HeadMask();

  /// Throws if a layer is named that has not run.
  void check_layers() const;

  /// For `AttentionCapture`: masks what layer `layer` has computed, (B, H, Tq, Tk), in place, if
  /// this thread has a mask.
  static void apply(int64_t layer, const torch::Tensor& weights);

 private:
  const std::vector<AttentionHead> off_;
  HeadMask* outer_;
  AttentionCapture capture_;
};

}  // namespace vitrine
