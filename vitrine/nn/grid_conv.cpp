#include "vitrine/nn/grid_conv.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/linear.h"

namespace vitrine {
namespace {

constexpr int64_t kCells = 4;

/// Which of the 9 weights of a kernel cell (r, c) acts by on cell (r', c'), for all pairs of cells:
/// [1 - r + r'][1 - c + c'].
torch::Tensor weights_of_pairs() {
  auto pairs = torch::empty({kCells * kCells}, torch::kLong);
  if (pairs.is_meta()) return pairs;  // shapes alone are asked for
  auto* out = pairs.data_ptr<int64_t>();
  for (int64_t from = 0; from < kCells; ++from)
    for (int64_t to = 0; to < kCells; ++to)
      *out++ = 3 * (1 - from / 2 + to / 2) + 1 - from % 2 + to % 2;
  return pairs;
}

/// The convolution with weights (out, in, 3, 3) over the 2 x 2 grid as one dense matrix:
/// (cells * out, cells * in), as a Linear's weight.
torch::Tensor dense_conv_matrix(const torch::Tensor& weight) {
  const auto out = weight.size(0), in = weight.size(1);
  return weight.flatten(2)
      .index_select(2, weights_of_pairs().to(weight.device()))
      .view({out, in, kCells, kCells})  // the last two: from, to
      .permute({3, 0, 2, 1})
      .reshape({kCells * out, kCells * in});
}

}  // namespace

GridConvImpl::GridConvImpl(int64_t in, int64_t out) {
  check(in > 0 && out > 0, "grid_conv: channels {} and {} must be positive", in, out);
  conv = register_module(
      "conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, /*kernel_size=*/3).padding(1)));
}

torch::Tensor GridConvImpl::forward(const torch::Tensor& x) {
  const auto in = conv->weight.size(1);
  check(x.dim() == 2 && x.size(1) == kCells * in, "grid_conv: input {} is not (B, {})",
        fmt::join(x.sizes(), "x"), kCells * in);
  return linear_product(x, dense_conv_matrix(conv->weight), conv->bias.repeat({kCells}));
}

torch::Tensor GridConvImpl::look_up(const torch::Tensor& one_hot, const torch::Tensor& table) {
  const auto& w = conv->weight;
  const auto out = w.size(0), in = w.size(1), rows = table.size(0);
  check(table.dim() == 2 && table.size(1) == in && one_hot.dim() == 2 &&
            one_hot.size(1) == kCells * rows,
        "grid_conv: table {} and one-hot {} do not fit {} channels", fmt::join(table.sizes(), "x"),
        fmt::join(one_hot.sizes(), "x"), in);
  const auto kernels = w.permute({1, 0, 2, 3}).reshape({in, out * 9});
  const auto convolved = linear_product(table, kernels.t())
                             .view({rows, out, 3, 3})
                             .transpose(0, 1);  // weights for inputs that are rows of the table
  return linear_product(one_hot, dense_conv_matrix(convolved), conv->bias.repeat({kCells}));
}

}  // namespace vitrine
