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

std::string channel_name(size_t channel, size_t channels) {
  constexpr const char* kColors[] = {"R", "G", "B"};
  return channels == std::size(kColors) ? kColors[channel] : std::to_string(channel);
}

}  // namespace

ImageBitsPerDim::ImageBitsPerDim(const ImageLayout& layout)
    : columns_(layout.columns),
      bits_(torch::zeros({layout.rows, layout.channels}, torch::kDouble)) {}

void ImageBitsPerDim::add(const torch::Tensor& logits, const torch::Tensor& bytes) {
  namespace F = torch::nn::functional;
  const auto R = bits_.size(0), K = bits_.size(1), T = R * columns_ * K;
  check(bytes.dim() == 2 && bytes.size(1) == T && logits.dim() == 3 &&
            logits.sizes().slice(0, 2) == bytes.sizes(),
        "bits per dim: logits {} of bytes {} are not those of images of {}x{}x{}",
        fmt::join(logits.sizes(), "x"), fmt::join(bytes.sizes(), "x"), R, columns_, K);
  // Image by image: the logits of a whole batch would be there twice.
  for (int64_t i = 0; i < bytes.size(0); ++i) {
    const auto loss =
        F::cross_entropy(logits[i].to(torch::kFloat), bytes[i],
                         F::CrossEntropyFuncOptions().reduction(torch::kNone));  // (T)
    const auto bits = loss.to(torch::kCPU, torch::kDouble) / std::numbers::ln2;
    bits_ += bits.view({R, columns_, K}).sum(1);
  }
  images_ += bytes.size(0);
}

std::vector<double> ImageBitsPerDim::channels() const {
  return values_of(bits_.mean(0) / (columns_ * images_));
}

std::vector<double> ImageBitsPerDim::rows() const {
  return values_of(bits_.mean(1) / (columns_ * images_));
}

std::string bits_per_dim_text(const ImageBitsPerDim& bits) {
  constexpr size_t kColumns = 4;
  std::string text = "bits per dim by channel\n";
  const auto channels = bits.channels(), rows = bits.rows();
  for (size_t i = 0; i < channels.size(); ++i)
    text += fmt::format("{:>5} {:.4f}", channel_name(i, channels.size()), channels[i]);
  text += "\n\nbits per dim by row of the image\n";
  const auto lines = (rows.size() + kColumns - 1) / kColumns;
  for (size_t line = 0; line < lines; ++line) {
    for (size_t row = line; row < rows.size(); row += lines)
      text += fmt::format("{:>5} {:.4f}", row, rows[row]);
    text += '\n';
  }
  return text;
}

}  // namespace vitrine
