#include "vitrine/ops/runtime.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

namespace vitrine {
namespace {

/// Seconds of all cores that this process has used.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The kernel's flags for the memory at an address.
std::string memory_flags(const void* at) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= address && address < end;
    else if (inside && line.starts_with("VmFlags:"))
      return line + " ";
  }
  return "";
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

TEST(Runtime, LargeTensorsLieOnHugePages) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "a kernel without huge pages";
  set_up_runtime(/*threads=*/2);
  const auto tensor = torch::empty({64 << 20});
  const auto* middle = tensor.data_ptr<float>() + tensor.numel() / 2;
  EXPECT_NE(memory_flags(middle).find(" hg "), std::string::npos) << memory_flags(middle);
}

}  // namespace vitrine
