#include "vitrine/nn/positions.h"

#include <cmath>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

torch::Tensor small_normal(at::IntArrayRef shape) { return torch::randn(shape) * 0.02; }

}  // namespace

const Choices<Positions>& positions_names() {
  static const Choices<Positions> names = {
      {"learned", Positions::Learned},       {"learned_2d", Positions::Learned2d},
      {"sinusoidal", Positions::Sinusoidal}, {"linear", Positions::Linear},
      {"relative", Positions::Relative},     {"none", Positions::None}};
  return names;
}

torch::Tensor sinusoidal_table(int64_t tokens, int64_t dim) {
  check(dim % 2 == 0, "positions: sinusoidal positions need an even dim, got {}", dim);
  const auto position = torch::arange(tokens, torch::kDouble).unsqueeze(1);              // (T, 1)
  const auto power = torch::arange(0, dim, 2, torch::kDouble) * (-std::log(1e4) / dim);  // (C / 2)
  const auto angle = position * power.exp();                                         // (T, C / 2)
  return torch::stack({angle.sin(), angle.cos()}, -1).flatten(1).to(torch::kFloat);  // (T, C)
}

torch::Tensor linear_table(int64_t tokens, int64_t dim) {
  const auto position = torch::arange(tokens, torch::kFloat).unsqueeze(1) / tokens;  // (T, 1)
  return position.expand({tokens, dim}).contiguous();                                // (T, C)
}

PositionEmbeddingConfig sequence_positions(Positions kind, int64_t length, int64_t dim) {
  return {.kind = kind, .rows = 1, .columns = length, .prefix = 0, .dim = dim};
}

int64_t relative_reach(Positions kind, int64_t tokens) {
  return kind == Positions::Relative ? tokens - 1 : 0;
}

PositionEmbeddingImpl::PositionEmbeddingImpl(const PositionEmbeddingConfig& c) : config(c) {
  const auto T = config.prefix + config.rows * config.columns, C = config.dim;
  switch (config.kind) {
    case Positions::Learned:
      pos_embed = register_parameter("pos_embed", small_normal({1, T, C}));
      break;
    case Positions::Learned2d:
      check(C % 2 == 0, "positions: learned_2d needs an even dim, got {}", C);
      if (config.prefix > 0)
        prefix_embed = register_parameter("prefix_embed", small_normal({1, config.prefix, C}));
      row_embed = register_parameter("row_embed", small_normal({config.rows, C / 2}));
      column_embed = register_parameter("column_embed", small_normal({config.columns, C / 2}));
      break;
    case Positions::Sinusoidal:
      pos_embed = sinusoidal_table(T, C).unsqueeze(0);
      break;
    case Positions::Linear:
      pos_embed = linear_table(T, C).unsqueeze(0);
      break;
    case Positions::Relative:
    case Positions::None:
      break;
  }
}

torch::Tensor PositionEmbeddingImpl::table() const {
  if (config.kind != Positions::Learned2d) return pos_embed;
  const auto R = config.rows, L = config.columns, half = config.dim / 2;
  const auto rows = row_embed.unsqueeze(1).expand({R, L, half});
  const auto columns = column_embed.unsqueeze(0).expand({R, L, half});
  const auto grid = torch::cat({rows, columns}, -1).view({1, R * L, config.dim});
  return config.prefix > 0 ? torch::cat({prefix_embed, grid}, 1) : grid;  // (1, T, C)
}

torch::Tensor PositionEmbeddingImpl::forward(const torch::Tensor& x) {
  const auto places = table();
  if (!places.defined()) return x;
  const auto T = x.size(1), all = places.size(1);
  const bool sequence = config.rows == 1 && config.prefix == 0;
  check(sequence ? T <= all : T == all, "positions: {} tokens do not fit {} positions", T, all);
  return x + places.narrow(1, 0, T).to(x.options());
}

}  // namespace vitrine
