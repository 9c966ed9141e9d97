#include "vitrine/ops/runtime.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace vitrine {
namespace {

/// Seconds of all cores that this process has used.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

TEST(Runtime, ThreadsThatWaitForOthersDoNotSpin) {
  using namespace std::chrono_literals;
  constexpr int kRegions = 100;
  set_up_runtime(/*threads=*/2);
  const auto before = cpu_seconds();
  for (int i = 0; i < kRegions; ++i)
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) std::this_thread::sleep_for(5ms);
  EXPECT_LT(cpu_seconds() - before, 0.1);  // of half a second
}

}  // namespace vitrine
