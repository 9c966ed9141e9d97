#include "vitrine/ops/runtime.h"

#include <malloc.h>
#include <torch/torch.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <limits>
#include <thread>

#include "vitrine/kernels/blas_core.h"
#include "vitrine/ops/huge_pages.h"

namespace vitrine {
namespace {

int64_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

/// OpenMP threads that wait for work spin for milliseconds, which ruins the speed as soon as
/// anything else wants a core. The program says how long they should (program/main.cpp), as libgomp
/// asks when it is loaded. In other programs it can only be kept from spinning at all: it does not
/// if it manages more threads than there are cores, so an idle team is kept, as large as the
/// machine.
void keep_openmp_from_spinning() {
  static const bool once = [] {
    std::promise<void> running;
    const auto ready = running.get_future();
    std::thread([running = std::move(running)]() mutable {
      std::atomic<int> members = 0;  // the compiler would remove a team that does nothing
#pragma omp parallel num_threads(static_cast <int>(cores()))
      ++members;
      running.set_value();
      std::promise<void>().get_future().wait();
    }).detach();
    ready.wait();
    return true;
  }();
  (void)once;
}

}  // namespace

int64_t set_up_runtime(int64_t threads) {
  // Fresh pages for every tensor cost up to half the speed: keep freed blocks in the heap.
  // (glibc ignores a mapping threshold above 32 MiB, so mapping is switched off altogether.)
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  use_huge_pages();
  static const bool once = (kernels::choose_blas_core(), true);
  (void)once;
  if (threads <= 0) threads = cores();
  torch::set_num_threads(static_cast<int>(threads));
  const bool told = std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY");
  if (threads > 1 && !told) keep_openmp_from_spinning();
  return threads;
}

}  // namespace vitrine
