#include "vitrine/kernels/packed_panels.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/transpose.h"

namespace vitrine::kernels {
namespace {

/// The words of output `row`, one for every `columns` of them.
template <typename Word>
Word* column_of(Word* panels, int64_t row, int64_t words, int64_t columns) {
  return panels + row / columns * words * columns + row % columns;
}

/// The rows of W that a panel holds.
struct PanelRows {
  int64_t first, end;
};
PanelRows rows_of(int64_t panel, int64_t n, const PackedLayout& layout) {
  return {panel * layout.columns, std::min(n, (panel + 1) * layout.columns)};
}

}  // namespace

void pack_words(const int32_t* rows, int64_t n, int64_t words, const PackedLayout& layout,
                int64_t panel, int32_t* panels) {
  const auto columns = layout.columns;
  const auto [first, end] = rows_of(panel, n, layout);
  auto* out = panels + first * words;
  if (end - first < columns) std::fill_n(out, columns * words, 0);
  transpose_words(rows + first * words, words, end - first, words, out, columns);
}

void unpack_fp32(const int32_t* panels, int64_t n, int64_t k, const PackedLayout& layout,
                 float* w) {
  for (int64_t row = 0; row < n; ++row) {
    const auto* column = column_of(panels, row, k, layout.columns);
    for (int64_t i = 0; i < k; ++i)
      w[row * k + i] = std::bit_cast<float>(column[i * layout.columns]);
  }
}

void unpack_bf16(const int32_t* panels, int64_t n, int64_t k, const PackedLayout& layout,
                 float* w) {
  for (int64_t row = 0; row < n; ++row) {
    const auto* column = column_of(panels, row, words_of(k, kBf16PerWord), layout.columns);
    for (int64_t i = 0; i < k; ++i) {
      const auto word = static_cast<uint32_t>(column[i / kBf16PerWord * layout.columns]);
      w[row * k + i] = std::bit_cast<float>(word >> 16 * (i % kBf16PerWord) << 16);
    }
  }
}

void pack_int8(const float* w, int64_t n, int64_t k, const PackedLayout& layout, int64_t panel,
               int32_t* panels, float* scale, int32_t* sum) {
  const auto words = words_of(k, kInt8PerWord), columns = layout.columns;
  const auto [first, end] = rows_of(panel, n, layout);
  std::fill_n(panels + first * words, columns * words, 0);
  std::fill_n(scale + first, columns, 0.0f);
  std::fill_n(sum + first, columns, 0);
  for (int64_t row = first; row < end; ++row) {
    const float* in = w + row * k;
    float most = 0;
    for (int64_t i = 0; i < k; ++i) most = std::max(most, std::abs(in[i]));
    scale[row] = most / static_cast<float>(layout.int8_limit);
    if (scale[row] == 0) continue;
    auto* column = column_of(panels, row, words, columns);
    for (int64_t i = 0; i < k; ++i) {
      const auto q = std::clamp(static_cast<int32_t>(std::nearbyint(in[i] / scale[row])),
                                -layout.int8_limit, layout.int8_limit);
      sum[row] += q;
      column[i / kInt8PerWord * columns] |= static_cast<int32_t>(
          static_cast<uint32_t>(static_cast<uint8_t>(q)) << 8 * (i % kInt8PerWord));
    }
  }
}

void unpack_int8(const int32_t* panels, const float* scale, int64_t n, int64_t k,
                 const PackedLayout& layout, float* w) {
  for (int64_t row = 0; row < n; ++row) {
    const auto* column = column_of(panels, row, words_of(k, kInt8PerWord), layout.columns);
    for (int64_t i = 0; i < k; ++i) {
      const auto word = column[i / kInt8PerWord * layout.columns];
      w[row * k + i] = scale[row] * static_cast<int8_t>(word >> 8 * (i % kInt8PerWord));
    }
  }
}

}  // namespace vitrine::kernels
