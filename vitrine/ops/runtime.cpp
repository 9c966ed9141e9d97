#include "vitrine/ops/runtime.h"

#include <malloc.h>
#include <torch/torch.h>

#include <limits>
#include <thread>

namespace vitrine {

int64_t set_up_runtime(int64_t threads) {
  // Fresh pages for every tensor cost up to half the speed: keep freed blocks in the heap.
  // (glibc ignores a mapping threshold above 32 MiB, so mapping is switched off altogether.)
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  if (threads <= 0) threads = std::max(1u, std::thread::hardware_concurrency());
  torch::set_num_threads(static_cast<int>(threads));
  return threads;
}

}  // namespace vitrine
