#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "vitrine/models/sparse_transformer.h"

namespace vitrine {

/// Which keys a token sees when it comes, and where they lie: a key is kept only as long as the
/// pattern may still ask for it.
class KeyCalendar {
 public:
  KeyCalendar(const AttentionPattern& pattern, int64_t tokens);

  /// Room for this many keys is enough.
  int64_t slots() const { return slots_; }
  /// Where the key of `token` is put.
  int64_t slot(int64_t token) const { return slot_[token]; }
  /// Where the keys lie that `token` sees: int64.
  const torch::Tensor& seen(int64_t token) const { return seen_[token]; }

 private:
  int64_t slots_ = 0;
  std::vector<int64_t> slot_;
  std::vector<torch::Tensor> seen_;
};

/// Runs a sparse transformer byte by byte, for several sequences at once, and keeps the keys and
/// values that later bytes need. The scores are those of the whole forward pass.
class SparseDecoder {
 public:
  SparseDecoder(std::shared_ptr<SparseTransformer> model, int64_t batch);

  /// Takes the byte before the next one, (B) int64 (at the start: undefined), and returns the
  /// scores of the next one: (B, 256).
  torch::Tensor next(const torch::Tensor& before);
  int64_t position() const { return position_; }
  /// Bytes that the kept keys and values take.
  int64_t memory() const;

 private:
  /// Heads of a layer that share a pattern, and what they keep.
  struct KeptHeads {
    int64_t first, count;
    std::shared_ptr<const KeyCalendar> calendar;
    torch::Tensor keys, values;  // (slots, B, count, width)
  };

  std::vector<KeptHeads> heads_of(const SparseAttentionConfig& config);
  torch::Tensor attend(std::vector<KeptHeads>& kept, SparseAttentionImpl& layer,
                       const torch::Tensor& x);

  std::shared_ptr<SparseTransformer> model_;
  int64_t batch_, position_ = 0;
  torch::Tensor places_;  // (T, C)
  std::vector<std::pair<AttentionPattern, std::shared_ptr<const KeyCalendar>>> calendars_;
  std::vector<std::vector<KeptHeads>> layers_;
};

}  // namespace vitrine
