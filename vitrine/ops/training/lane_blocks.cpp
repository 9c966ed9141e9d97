#include "vitrine/ops/training/lane_blocks.h"

#include <torch/torch.h>

#include <numeric>

#include "vitrine/ops/training/lane_pieces.h"

namespace vitrine {
namespace {

kernels::LaneBlock lane_block(const torch::Tensor& x, const EncoderBlockWeights& w,
                              const EncoderBlockSettings& s) {
  return {.T = x.size(1),
          .C = x.size(2),
          .H = s.heads,
          .F = w.mlp.weight1.size(0),
          .activation = s.activation,
          .eps = static_cast<float>(s.norm_eps),
          .norm_stream = s.norm_stream,
          .gamma1 = values_or_null(w.gamma1),
          .beta1 = values_or_null(w.beta1),
          .qkv_weight = values_or_null(w.qkv_weight),
          .qkv_bias = values_or_null(w.qkv_bias),
          .proj_weight = values_or_null(w.proj_weight),
          .proj_bias = values_or_null(w.proj_bias),
          .gamma2 = values_or_null(w.gamma2),
          .beta2 = values_or_null(w.beta2),
          .weight1 = values_or_null(w.mlp.weight1),
          .bias1 = values_or_null(w.mlp.bias1),
          .weight2 = values_or_null(w.mlp.weight2),
          .bias2 = values_or_null(w.mlp.bias2)};
}

LanePieces pieces_of(const torch::Tensor& x, const kernels::LaneBlock& b) {
  return {x.size(0), 2 * b.T * (4 * b.C * b.C + 2 * b.C * b.F + 2 * b.T * b.C),
          kernels::lane_block_memory(b)};
}

}  // namespace

bool suits_lanes(int64_t T, int64_t C, int64_t hidden, const EncoderBlockSettings& s,
                 Precision precision) {
  constexpr int64_t kWidest = 32, kMostNumbers = 1 << 14;  // of a sequence, forward and backward
  const bool drops = s.dropout > 0 || s.attention_dropout > 0 || s.drop_path > 0;
  const auto numbers = T * (17 * C + 3 * hidden) + (s.heads + 1) * T * T;
  return precision == Precision::Float32 && !drops && C <= kWidest && numbers <= kMostNumbers;
}

LaneBlocks lane_blocks_forward(const torch::Tensor& x, const EncoderBlockWeights& weights,
                               const EncoderBlockSettings& settings, bool keep) {
  const auto block = lane_block(x, weights, settings);
  const auto each = block.T * block.C;
  LaneBlocks result;
  result.y = torch::empty_like(x);
  const auto* in = x.data_ptr<float>();
  auto* out = result.y.data_ptr<float>();
  result.kept = pieces_of(x, block).forward(keep, [&](int64_t first, int64_t sequences,
                                                      float* numbers) {
    kernels::lane_block_forward(block, in + first * each, sequences, out + first * each, numbers);
  });
  return result;
}

BlockGradients lane_blocks_backward(const torch::Tensor& x, const torch::Tensor& kept,
                                    const torch::Tensor& dy, const EncoderBlockWeights& weights,
                                    const EncoderBlockSettings& settings) {
  const auto block = lane_block(x, weights, settings);
  const auto sizes = block.sizes();
  const auto each = block.T * block.C;
  BlockGradients gradients;
  gradients.x = torch::empty_like(x);
  const auto* d_out = dy.data_ptr<float>();
  auto* d_in = gradients.x.data_ptr<float>();
  const auto sums = pieces_of(x, block).backward(
      kept, std::accumulate(sizes.begin(), sizes.end(), int64_t{0}),
      [&](int64_t first, int64_t sequences, const float* numbers, float* totals, float* scratch) {
        kernels::lane_block_backward(block, numbers, d_out + first * each, sequences,
                                     d_in + first * each, totals, scratch);
      });
  const auto* from = sums.data_ptr<float>();
  const auto take = [&](torch::IntArrayRef shape) {
    auto gradient = torch::empty(shape);
    std::copy_n(from, gradient.numel(), gradient.data_ptr<float>());
    from += gradient.numel();
    return gradient;
  };
  const auto C = block.C, F = block.F;
  for (const auto& shape : std::vector<std::vector<int64_t>>{
           {C}, {C}, {3 * C, C}, {3 * C}, {C, C}, {C}, {C}, {C}, {F, C}, {F}, {C, F}, {C}})
    gradients.parameters.push_back(take(shape));
  return gradients;
}

}  // namespace vitrine
