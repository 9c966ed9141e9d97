#pragma once

#include <torch/torch.h>

#include "vitrine/core/fields.h"

namespace vitrine {

/// `Linear` adds pos / tokens to every channel; `Relative` adds nothing to the tokens, the
/// attention layers know the distances instead (`AttentionConfig::relative`).
enum class Positions { Learned, Learned2d, Sinusoidal, Linear, Relative, None };
const Choices<Positions>& positions_names();

/// PE(pos, 2i) = sin(pos / 10000^(2i/dim)), PE(pos, 2i+1) = cos(same): (tokens, dim).
torch::Tensor sinusoidal_table(int64_t tokens, int64_t dim);
/// PE(pos, i) = pos / tokens: (tokens, dim).
torch::Tensor linear_table(int64_t tokens, int64_t dim);

struct PositionEmbeddingConfig {
  Positions kind = Positions::Learned;
  int64_t rows = 8, columns = 8;  // the grid of patches
  int64_t prefix = 1;             // tokens before the grid (a class token)
  int64_t dim = 64;
};

/// Positions of a sequence of up to `length` tokens.
PositionEmbeddingConfig sequence_positions(Positions kind, int64_t length, int64_t dim);
/// How far apart tokens can be, for `AttentionConfig::relative`; 0 unless `kind` is Relative.
int64_t relative_reach(Positions kind, int64_t tokens);

/// Adds to each token what says where it stands: (B, T, C) -> (B, T, C), T = prefix + rows *
/// columns. A sequence (one row, no prefix) may also be shorter.
class PositionEmbeddingImpl : public torch::nn::Module {
 public:
  explicit PositionEmbeddingImpl(const PositionEmbeddingConfig& c);
  torch::Tensor forward(const torch::Tensor& x);
  /// What is added: (1, T, C); undefined for `Relative` and `None`.
  torch::Tensor table() const;

  const PositionEmbeddingConfig config;
  torch::Tensor pos_embed;  // Learned (1, T, C); Sinusoidal and Linear: a constant
  torch::Tensor prefix_embed, row_embed,
      column_embed;  // Learned2d: (1, prefix, C), (rows, C / 2), (columns, C / 2)
};
TORCH_MODULE(PositionEmbedding);

}  // namespace vitrine
