#pragma once

#include <cstdint>

namespace vitrine {

/// A key for a counter-based random kernel, drawn from torch's own generator: `torch::manual_seed`
/// decides it.
uint64_t draw_random_key();

}  // namespace vitrine
