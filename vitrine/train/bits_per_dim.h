#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "vitrine/data/batch.h"

namespace vitrine {

/// Bits per dim of images that are predicted byte by byte, for each channel and each row.
class ImageBitsPerDim {
 public:
  explicit ImageBitsPerDim(const ImageLayout& layout);

  /// Logits (B, T, 256) of the bytes (B, T), both in interleaved order: R0 G0 B0 R1 ...
  void add(const torch::Tensor& logits, const torch::Tensor& bytes);
  std::vector<double> channels() const;
  std::vector<double> rows() const;

 private:
  int64_t columns_, images_ = 0;
  torch::Tensor bits_;  // (rows, channels) double: sums over columns and images
};

/// The channels in a line, the rows in a few columns that are read downwards.
std::string bits_per_dim_text(const ImageBitsPerDim& bits);

}  // namespace vitrine
