#include "vitrine/nn/positional_encoding.h"

#include <cmath>

#include "vitrine/core/error.h"

namespace vitrine {

const Choices<PositionalEncoding>& positional_encoding_names() {
  static const Choices<PositionalEncoding> names = {
      {"learned", PositionalEncoding::Learned},       {"learned_2d", PositionalEncoding::Learned2d},
      {"sinusoidal", PositionalEncoding::Sinusoidal}, {"linear", PositionalEncoding::Linear},
      {"relative", PositionalEncoding::Relative},     {"none", PositionalEncoding::None}};
  return names;
}

torch::Tensor sinusoidal_encoding(int64_t tokens, int64_t dim) {
  check(dim % 2 == 0, "positions: sinusoidal positions need an even dim, got {}", dim);
  const auto position = torch::arange(tokens, torch::kDouble).unsqueeze(1);              // (T, 1)
  const auto power = torch::arange(0, dim, 2, torch::kDouble) * (-std::log(1e4) / dim);  // (C / 2)
  const auto angle = position * power.exp();                                         // (T, C / 2)
  return torch::stack({angle.sin(), angle.cos()}, -1).flatten(1).to(torch::kFloat);  // (T, C)
}

torch::Tensor linear_encoding(int64_t tokens, int64_t dim) {
  const auto position = torch::arange(tokens, torch::kFloat).unsqueeze(1) / tokens;  // (T, 1)
  return position.expand({tokens, dim}).contiguous();                                // (T, C)
}

PositionEmbeddingConfig sequence_positions(PositionalEncoding kind, int64_t length, int64_t dim) {
  return {.kind = kind, .rows = 1, .columns = length, .prefix = 0, .dim = dim};
}

int64_t max_relative_distance(PositionalEncoding kind, int64_t tokens) {
  return kind == PositionalEncoding::Relative ? tokens - 1 : 0;
}

PositionEmbedding::PositionEmbedding(torch::nn::Module& owner, const PositionEmbeddingConfig& c)
    : config_(c) {
  const auto T = c.prefix + c.rows * c.columns, C = c.dim;
  const auto learned = [&](const char* name, at::IntArrayRef shape) {
    return owner.register_parameter(name, torch::randn(shape) * 0.02);
  };
  switch (c.kind) {
    case PositionalEncoding::Learned:
      pos_embed_ = learned("pos_embed", {1, T, C});
      break;
    case PositionalEncoding::Learned2d:
      check(C % 2 == 0, "positions: learned_2d needs an even dim, got {}", C);
      if (c.prefix > 0) prefix_embed_ = learned("prefix_embed", {1, c.prefix, C});
      row_embed_ = learned("row_embed", {c.rows, C / 2});
      column_embed_ = learned("column_embed", {c.columns, C / 2});
      break;
    case PositionalEncoding::Sinusoidal:
      pos_embed_ = sinusoidal_encoding(T, C).unsqueeze(0);
      break;
    case PositionalEncoding::Linear:
      pos_embed_ = linear_encoding(T, C).unsqueeze(0);
      break;
    case PositionalEncoding::Relative:
    case PositionalEncoding::None:
      break;
  }
}

torch::Tensor PositionEmbedding::table() const {
  if (config_.kind != PositionalEncoding::Learned2d) return pos_embed_;
  const auto R = config_.rows, L = config_.columns, half = config_.dim / 2;
  const auto rows = row_embed_.unsqueeze(1).expand({R, L, half});
  const auto columns = column_embed_.unsqueeze(0).expand({R, L, half});
  const auto grid = torch::cat({rows, columns}, -1).view({1, R * L, config_.dim});
  return config_.prefix > 0 ? torch::cat({prefix_embed_, grid}, 1) : grid;  // (1, T, C)
}

torch::Tensor PositionEmbedding::operator()(const torch::Tensor& x) const {
  const auto encoding = table();
  if (!encoding.defined()) return x;
  const auto T = x.size(1), all = encoding.size(1);
  const bool sequence = config_.rows == 1 && config_.prefix == 0;
  check(sequence ? T <= all : T == all, "positions: {} tokens do not fit {} positions", T, all);
  return x + (T == all ? encoding : encoding.narrow(1, 0, T)).to(x.options());
}

}  // namespace vitrine
