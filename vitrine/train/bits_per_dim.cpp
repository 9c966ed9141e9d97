#include "vitrine/train/bits_per_dim.h"

#include <torch/torch.h>

#include <numbers>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

std::vector<double> values_of(const torch::Tensor& tensor) {
  const auto dense = tensor.contiguous();
  const auto* first = dense.data_ptr<double>();
  return {first, first + dense.numel()};
}

}  // namespace

PictureBits::PictureBits(int64_t rows, int64_t columns, int64_t channels)
    : columns_(columns), bits_(torch::zeros({rows, channels}, torch::kDouble)) {}

void PictureBits::add(const torch::Tensor& scores, const torch::Tensor& bytes) {
  namespace F = torch::nn::functional;
  const auto R = bits_.size(0), K = bits_.size(1), T = R * columns_ * K;
  check(bytes.dim() == 2 && bytes.size(1) == T && scores.dim() == 3 &&
            scores.sizes().slice(0, 2) == bytes.sizes(),
        "bits per dim: scores {} of bytes {} are not those of pictures of {}x{}x{}",
        fmt::join(scores.sizes(), "x"), fmt::join(bytes.sizes(), "x"), R, columns_, K);
  // Picture by picture: the scores of a whole batch would be there twice.
  for (int64_t i = 0; i < bytes.size(0); ++i) {
    const auto loss =
        F::cross_entropy(scores[i].to(torch::kFloat), bytes[i],
                         F::CrossEntropyFuncOptions().reduction(torch::kNone));  // (T)
    const auto bits = loss.to(torch::kCPU, torch::kDouble) / std::numbers::ln2;
    bits_ += bits.view({R, columns_, K}).sum(1);
  }
  pictures_ += bytes.size(0);
}

std::vector<double> PictureBits::channels() const {
  return values_of(bits_.mean(0) / (columns_ * pictures_));
}

std::vector<double> PictureBits::rows() const {
  return values_of(bits_.mean(1) / (columns_ * pictures_));
}

}  // namespace vitrine
