#include "vitrine/data/normalize.h"

#include <algorithm>

namespace vitrine {

Normalizer::Normalizer(const std::vector<double>& mean, const std::vector<double>& std)
    : tables_(mean.size()) {
  for (size_t c = 0; c < mean.size(); ++c)
    for (int i = 0; i < 256; ++i)
      tables_[c][i] = (static_cast<float>(i) / 255.0f - static_cast<float>(mean[c])) /
                      static_cast<float>(std[c]);
}

void Normalizer::operator()(const Image& image, const Window& w, float* out) const {
  const auto C = image.channels;
  const auto first = std::clamp<int64_t>(-w.left, 0, w.size);
  const auto last = std::clamp<int64_t>(image.width - w.left, first, w.size);
  for (int64_t c = 0; c < C; ++c) {
    const auto& table = tables_[c];
    for (int64_t y = 0; y < w.size; ++y, out += w.size) {
      const auto from_y = y + w.top;
      if (from_y < 0 || from_y >= image.height || first == last) {
        std::fill_n(out, w.size, table[0]);
        continue;
      }
      const uint8_t* from = image.at(w.left + first, from_y) + c;
      const auto count = last - first;
      float* row = out + (w.flipped ? w.size - last : first);
      std::fill(out, row, table[0]);
      std::fill(row + count, out + w.size, table[0]);
      if (w.flipped)
        for (int64_t x = 0; x < count; ++x) row[count - 1 - x] = table[from[x * C]];
      else
        for (int64_t x = 0; x < count; ++x) row[x] = table[from[x * C]];
    }
  }
}

void erase_normalized(float* image, int64_t C, int64_t H, int64_t W, const Rectangle& r) {
  for (int64_t c = 0; c < C; ++c)
    for (int64_t y = r.top; y < r.top + r.height; ++y)
      std::fill_n(image + (c * H + y) * W + r.left, r.width, 0.0f);
}

}  // namespace vitrine
