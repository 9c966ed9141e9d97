#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace vitrine::serve {

/// The attention weights of one layer: heads x queries x keys, row by row.
struct LayerWeights {
  int64_t heads = 0, queries = 0, keys = 0;
  std::vector<float> values{};
};

/// The weights of every attention layer that `forward` runs, for one example.
std::vector<LayerWeights> captured_weights(const std::function<void()>& forward);

}  // namespace vitrine::serve
