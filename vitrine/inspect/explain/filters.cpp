#include "vitrine/inspect/explain/filters.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"

namespace vitrine {

std::vector<FilterComponent> filter_components(const torch::Tensor& filters, int64_t count) {
  check(filters.dim() == 4 && (filters.size(1) == 1 || filters.size(1) == 3),
        "filters: {} are not (C, 1 or 3, k, k)", fmt::join(filters.sizes(), "x"));
  const auto channels = filters.size(1), height = filters.size(2), width = filters.size(3);
  const auto flat = filters.detach().to(torch::kCPU, torch::kDouble).flatten(1);  // (C, pixels)
  const auto centred = flat - flat.mean(0, /*keepdim=*/true);
  // Of the smaller of the two products of the matrix with itself.
  const bool wide = centred.size(0) < centred.size(1);
  const auto product = wide ? centred.matmul(centred.t()) : centred.t().matmul(centred);
  auto [values, vectors] = torch::linalg_eigh(product, "L");  // ascending
  values = values.flip(0).clamp_min(0);
  vectors = vectors.flip(1);
  const double total = std::max(values.sum().item<double>(), 1e-300);
  std::vector<FilterComponent> result;
  for (int64_t i = 0; i < std::min(count, values.size(0)); ++i) {
    const double value = values[i].item<double>();
    if (value <= 1e-12 * total) break;
    auto component = wide ? centred.t().matmul(vectors.select(1, i)) : vectors.select(1, i);
    const auto largest = component[component.abs().argmax()].item<double>();
    const auto pixels = (component / largest * 127.5 + 127.5)
                            .round()
                            .clamp(0, 255)
                            .view({channels, height, width})
                            .permute({1, 2, 0})
                            .to(torch::kByte)
                            .contiguous();
    Image image(width, height, channels);
    std::copy_n(pixels.data_ptr<uint8_t>(), pixels.numel(), image.pixels.begin());
    result.push_back({std::move(image), value / total});
  }
  return result;
}

}  // namespace vitrine
