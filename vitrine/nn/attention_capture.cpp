#include "vitrine/nn/attention_capture.h"

#include <torch/torch.h>

#include "vitrine/nn/head_mask.h"

namespace vitrine {
namespace {

thread_local AttentionCapture* innermost = nullptr;

}  // namespace

AttentionCapture::AttentionCapture(bool in_graph) : outer_(innermost), in_graph_(in_graph) {
  innermost = this;
}
AttentionCapture::~AttentionCapture() { innermost = outer_; }
AttentionCapture* AttentionCapture::current() { return innermost; }

void AttentionCapture::record(const torch::Tensor& weights, const TokenGrid& queries,
                              const TokenGrid& keys, const torch::Tensor& projections) {
  TORCH_INTERNAL_ASSERT(
      weights.dim() == 4 && weights.size(2) == queries.tokens() && weights.size(3) == keys.tokens(),
      "attention weights ", weights.sizes(), " do not fit their grids");
  HeadMask::apply(std::ssize(layers), weights);
  layers.push_back({weights, queries, keys, projections});
}

void AttentionCapture::record_readout(Readout kind, const torch::Tensor& weights) {
  TORCH_INTERNAL_ASSERT(weights.dim() == 2, "readout weights ", weights.sizes(), " are not (B, T)");
  readout = weights;
  readout_kind = kind;
}

}  // namespace vitrine
