#pragma once

#include <cstdint>

namespace vitrine {

/// Prepares the process for tensor work: threads (0 = all cores), BLAS kernels that fit the
/// processor, and a malloc that keeps large blocks, on huge pages, instead of giving them back to
/// the system after every operation. Returns the threads.
int64_t set_up_runtime(int64_t threads);

}  // namespace vitrine
