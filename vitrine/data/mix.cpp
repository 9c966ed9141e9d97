#include "vitrine/data/mix.h"

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

/// Rows of a contiguous (B, count) tensor, each mixed with the row before it.
void mix_rows(const torch::Tensor& rows, float weight) {
  const auto B = rows.size(0), count = rows.numel() / B;
  float* data = rows.data_ptr<float>();
  const std::vector<float> last(data + (B - 1) * count, data + B * count);
  for (int64_t b = B - 1; b >= 0; --b) {
    float* row = data + b * count;
    const float* before = b > 0 ? row - count : last.data();
    for (int64_t i = 0; i < count; ++i) row[i] = row[i] * weight + before[i] * (1 - weight);
  }
}

}  // namespace

torch::Tensor one_hot_targets(const torch::Tensor& labels, int64_t classes) {
  const auto B = labels.size(0);
  auto targets = torch::zeros({B, classes});
  for (int64_t b = 0; b < B; ++b)
    targets.data_ptr<float>()[b * classes + labels.data_ptr<int64_t>()[b]] = 1;
  return targets;
}

void mixup(Batch& batch, double weight) {
  mix_rows(batch.inputs, static_cast<float>(weight));
  mix_rows(batch.targets, static_cast<float>(weight));
}

void cutmix(Batch& batch, const Rectangle& r) {
  const auto B = batch.inputs.size(0), C = batch.inputs.size(1);
  const auto H = batch.inputs.size(2), W = batch.inputs.size(3);
  float* data = batch.inputs.data_ptr<float>();
  const std::vector<float> last(data + (B - 1) * C * H * W, data + B * C * H * W);
  for (int64_t b = B - 1; b >= 0; --b) {
    float* image = data + b * C * H * W;
    const float* before = b > 0 ? image - C * H * W : last.data();
    for (int64_t c = 0; c < C; ++c)
      for (int64_t y = r.top; y < r.top + r.height; ++y) {
        const auto at = (c * H + y) * W + r.left;
        std::copy_n(before + at, r.width, image + at);
      }
  }
  mix_rows(batch.targets, 1 - static_cast<float>(r.width * r.height) / static_cast<float>(W * H));
}

Rectangle cutmix_rectangle(int64_t W, int64_t H, double kept, int64_t x, int64_t y) {
  const double half = 0.5 * std::sqrt(1 - kept);
  const auto half_width = static_cast<int64_t>(half * static_cast<double>(W));
  const auto half_height = static_cast<int64_t>(half * static_cast<double>(H));
  const auto left = std::max<int64_t>(x - half_width, 0), right = std::min(x + half_width, W);
  const auto top = std::max<int64_t>(y - half_height, 0), bottom = std::min(y + half_height, H);
  return {left, top, right - left, bottom - top};
}

}  // namespace vitrine
