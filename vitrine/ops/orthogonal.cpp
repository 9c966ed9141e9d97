#include "vitrine/ops/orthogonal.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"

namespace vitrine {

namespace {

constexpr int kTurns = 5;

}  // namespace

int64_t newton_schulz_multiply_adds(int64_t rows, int64_t columns) {
  const auto small = std::min(rows, columns), large = std::max(rows, columns);
  return kTurns * small * small * (2 * large + small);
}

torch::Tensor newton_schulz_orthogonalize(const torch::Tensor& matrix) {
  check(matrix.dim() == 2, "newton_schulz_orthogonalize: {} is not a matrix",
        fmt::join(matrix.sizes(), "x"));
  constexpr double kOnce = 3.4445, kThrice = -4.7750, kFiveTimes = 2.0315;
  const bool tall = matrix.size(0) > matrix.size(1);
  auto x = tall ? matrix.t() : matrix;
  x = x / (x.norm() + 1e-12);
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto square = x.mm(x.t());
    x = x * kOnce + (square * kThrice + square.mm(square) * kFiveTimes).mm(x);
  }
  return tall ? x.t() : x;
}

}  // namespace vitrine
