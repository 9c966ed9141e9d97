#pragma once

#include <torch/torch.h>

#include "vitrine/core/fields.h"

namespace vitrine {

/// `Linear` adds pos / tokens to every channel; `Relative` adds nothing to the tokens, the
/// attention layers add a bias by distance instead (`AttentionConfig::max_relative_distance`).
enum class PositionalEncoding { Learned, Learned2d, Sinusoidal, Linear, Relative, None };
const Choices<PositionalEncoding>& positional_encoding_names();

/// PE(pos, 2i) = sin(pos / 10000^(2i/dim)), PE(pos, 2i+1) = cos(same): (tokens, dim).
torch::Tensor sinusoidal_encoding(int64_t tokens, int64_t dim);
/// PE(pos, i) = pos / tokens: (tokens, dim).
torch::Tensor linear_encoding(int64_t tokens, int64_t dim);

struct PositionEmbeddingConfig {
  PositionalEncoding kind = PositionalEncoding::Learned;
  int64_t rows = 8, columns = 8;  // the grid of patches
  int64_t prefix = 1;             // tokens before the grid (a class token)
  int64_t dim = 64;
};

/// Positions of a sequence of up to `length` tokens.
PositionEmbeddingConfig sequence_positions(PositionalEncoding kind, int64_t length, int64_t dim);
/// How far apart tokens can be, for `AttentionConfig::max_relative_distance`; 0 unless `kind` is
/// Relative.
int64_t max_relative_distance(PositionalEncoding kind, int64_t tokens);

/// Adds the positional encoding to each token: (B, T, C) -> (B, T, C), T = prefix + rows *
/// columns. A sequence (one row, no prefix) may also be shorter. It is no module of its own: what
/// it learns are parameters of its owner, named as timm names them.
class PositionEmbedding {
 public:
  PositionEmbedding() = default;
  /// Registers on `owner`, for Learned: pos_embed (1, T, C); for Learned2d: prefix_embed
  /// (1, prefix, C) where there is a prefix, row_embed (rows, C / 2) and column_embed
  /// (columns, C / 2).
  PositionEmbedding(torch::nn::Module& owner, const PositionEmbeddingConfig& c);

  torch::Tensor operator()(const torch::Tensor& x) const;
  /// What is added: (1, T, C); undefined for `Relative` and `None`.
  torch::Tensor table() const;

 private:
  PositionEmbeddingConfig config_{};
  torch::Tensor pos_embed_;  // Sinusoidal and Linear: a constant
  torch::Tensor prefix_embed_, row_embed_, column_embed_;
};

}  // namespace vitrine
