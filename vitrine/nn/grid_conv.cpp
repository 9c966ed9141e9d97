#include "vitrine/nn/grid_conv.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/linear.h"

namespace vitrine {
namespace {

constexpr int64_t kCells = 4;

/// The convolution with weights (out, in, 3, 3) over the 2 x 2 grid as one dense matrix:
/// (cells * out, cells * in), as a Linear's weight. Cell (r, c) acts on (r', c') by the weight
/// [1 - r + r'][1 - c + c'].
torch::Tensor dense_conv_matrix(const torch::Tensor& weight) {
  const auto out = weight.size(0), in = weight.size(1);
  const auto windows = weight.unfold(2, /*size=*/2, /*step=*/1).unfold(3, /*size=*/2, /*step=*/1);
  std::vector<torch::Tensor> cells;  // each (in, r', c', out)
  for (const auto& [r, c] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)})
    cells.push_back(windows.select(2, 1 - r).select(2, 1 - c).permute({1, 2, 3, 0}));
  return torch::stack(cells).reshape({kCells * in, kCells * out}).t();
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
