#pragma once

#include <torch/torch.h>

namespace vitrine {

/// A 3 x 3 convolution with padding 1 over a 2 x 2 grid, as one matrix product: on so small a grid
/// each cell sees each other one. (A convolution as mathematics writes it: torch, which slides the
/// kernel unmirrored, gives the same with the weights flipped in both directions.) Features lie
/// cell by cell: (B, 4 * in) -> (B, 4 * out).
class GridConvImpl : public torch::nn::Module {
 public:
  GridConvImpl(int64_t in, int64_t out);
  torch::Tensor forward(const torch::Tensor& x);
  /// The result for grids whose cells are rows of `table` (N, in), chosen by `one_hot`
  /// (B, 4 * N): the table is convolved, not the B grids.
  torch::Tensor look_up(const torch::Tensor& one_hot, const torch::Tensor& table);

  torch::nn::Conv2d conv{nullptr};  // holds the weights; its own forward is never run
};
TORCH_MODULE(GridConv);

}  // namespace vitrine
