#pragma once

#include <torch/types.h>

#include <vector>

namespace vitrine {

/// Bits per dim of pictures that are told byte by byte, for each channel and each row.
class PictureBits {
 public:
  PictureBits(int64_t rows, int64_t columns, int64_t channels);

  /// Scores (B, T, 256) of the bytes (B, T), both in interleaved order: R0 G0 B0 R1 ...
  void add(const torch::Tensor& scores, const torch::Tensor& bytes);
  std::vector<double> channels() const;
  std::vector<double> rows() const;

 private:
  int64_t columns_, pictures_ = 0;
  torch::Tensor bits_;  // (rows, channels) double: sums over columns and pictures
};

}  // namespace vitrine
