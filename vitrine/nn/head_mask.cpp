#include "vitrine/nn/head_mask.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

thread_local HeadMask* innermost_mask = nullptr;

}  // namespace

HeadMask::HeadMask(std::vector<AttentionHead> off)
    : off_(std::move(off)), outer_(innermost_mask), capture_(/*in_graph=*/true) {
  innermost_mask = this;
}

HeadMask::~HeadMask() { innermost_mask = outer_; }

void HeadMask::check_layers() const {
  const auto layers = std::ssize(capture_.layers);
  for (const auto& [layer, head] : off_)
    check(layer >= 0 && layer < layers,
          "head mask: there is no attention layer {}; the network has {}, counted from 0", layer,
          layers);
}

void HeadMask::apply(int64_t layer, const torch::Tensor& weights) {
  if (innermost_mask == nullptr) return;
  const auto H = weights.size(1);
  for (const auto& off : innermost_mask->off_) {
    if (off.layer != layer) continue;
    check(off.head >= AttentionHead::kAllHeads && off.head < H,
          "head mask: attention layer {} has no head {}; it has {}, counted from 0", layer,
          off.head, H);
    if (off.head == AttentionHead::kAllHeads)
      torch::Tensor(weights).zero_();
    else
      weights.select(1, off.head).zero_();
  }
}

}  // namespace vitrine
