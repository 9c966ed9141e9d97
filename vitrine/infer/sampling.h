#pragma once

#include <torch/types.h>

#include <memory>

#include "vitrine/infer/sampler.h"

namespace vitrine {

class DecoderState;
class Generator;

/// Sequences that are being sampled, one token of each per step. The generator must outlive it.
class Sampling {
 public:
  /// Throws if the options do not fit the model or its layers cannot generate.
  Sampling(const Generator& generator, const SampleOptions& options);
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;
  ~Sampling();

  /// Takes the next token of each sequence, from the prefix or sampled; false if all have ended.
  bool step();

  /// How many tokens of each sequence there are.
  int64_t position() const { return position_; }
  /// How many there can be, and how many of them are given.
  int64_t context() const { return tokens_.size(1); }
  int64_t kept() const { return kept_; }
  /// How many tokens of all sequences were sampled, but for those behind their ends.
  int64_t sampled() const;
  /// The tokens that step `t` took, (B) int64, and where they stand in the data's sequences.
  torch::Tensor tokens_at(int64_t t) const { return tokens_.select(1, t); }
  int64_t place_of(int64_t t) const;
  /// The sequences in the order of the data, (B, T) int64. T is the context, or less where all have
  /// ended before; behind its end a sequence holds end tokens.
  torch::Tensor sequences() const;

 private:
  bool has_ended() const;

  const Generator& generator_;
  const SampleOptions options_;
  const torch::Tensor order_;  // as Decoder::reading_order
  const int64_t kept_;
  torch::Tensor tokens_;  // (B, context), in the order in which the model reads
  torch::Tensor ended_;   // (B) bool
  torch::Tensor last_;    // (B), what the model reads next
  std::unique_ptr<DecoderState> state_;
  int64_t position_ = 0;
};

}  // namespace vitrine
