#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/nn/token_grid.h"

namespace vitrine {

/// What one attention layer did: weights (B, H, Tq, Tk), whose rows sum to 1, and where its queries
/// and keys lie. The grids differ where keys are reduced: a key then stands for the part of the
/// image that its cell covers. Attention in windows is recorded over the whole grid, 0 outside a
/// window.
struct AttentionRecord {
  torch::Tensor weights;
  TokenGrid queries, keys;
  // Queries, keys and values, (B, T, 3, H, D), where the weights are softmax(Q K^T / sqrt(D)) of
  // all pairs of tokens; undefined in layers of another form.
  torch::Tensor projections{};
};

/// While it lives, every attention layer that runs on this thread records its weights, in the order
/// of the forward pass. Without one, a layer only tests a pointer. With `in_graph`, the output of a
/// layer, and the readout, are computed from the very weights that are recorded, so that the answer
/// has gradients with respect to them.
class AttentionCapture {
 public:
  explicit AttentionCapture(bool in_graph = false);
  AttentionCapture(const AttentionCapture&) = delete;
  AttentionCapture& operator=(const AttentionCapture&) = delete;
  ~AttentionCapture();

  /// The innermost capture of this thread, or null.
  static AttentionCapture* current();

  bool in_graph() const { return in_graph_; }

  /// The weights must fit the grids.
  void record(const torch::Tensor& weights, const TokenGrid& queries, const TokenGrid& keys,
              const torch::Tensor& projections = {});

  /// How the answer reads the tokens that the last layer gave: (B, T), rows sum to 1.
  void record_readout(Readout kind, const torch::Tensor& weights);

  std::vector<AttentionRecord> layers;
  torch::Tensor readout;  // (B, T); undefined for answers that no weights describe
  Readout readout_kind = Readout::Token;

 private:
  AttentionCapture* outer_;
  bool in_graph_;
};

}  // namespace vitrine
