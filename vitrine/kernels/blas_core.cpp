#include "vitrine/kernels/blas_core.h"

#include <cblas.h>
#include <dlfcn.h>

#include <cstdlib>

namespace vitrine::kernels {
namespace {

constexpr auto kVariable = "OPENBLAS_CORETYPE";

}  // namespace

CpuVectors cpu_vectors() {
#ifdef __x86_64__
  return {.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
          .avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")};
#else
  return {};
#endif
}

std::string blas_version() {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  const auto version_end = config.find(' ', config.find(' ') + 1);
  const auto parallel = openblas_get_parallel();
  const auto* threads = parallel == OPENBLAS_OPENMP   ? "OpenMP"
                        : parallel == OPENBLAS_THREAD ? "pthreads"
                                                      : "one thread";
  return config.substr(0, version_end) + " (" + threads + ")";
}

std::string blas_core() { return openblas_get_corename(); }

std::string better_blas_core(const std::string& core, const CpuVectors& cpu) {
  if (core != "Prescott" || !cpu.avx2) return "";  // Prescott: what it takes for unknown models
  return cpu.avx512 ? "SkylakeX" : "Haswell";
}

bool switch_blas_core(const std::string& core) {
  // Both are exported by builds for several processors, as distributions make them, but not
  // declared.
  using Call = void (*)();
  const auto quit = reinterpret_cast<Call>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit"));
  const auto init = reinterpret_cast<Call>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init"));
  if (quit == nullptr || init == nullptr) return false;
  setenv(kVariable, core.c_str(), /*overwrite=*/1);  // also for the processes that this one starts
  quit();
  init();
  return blas_core() == core;
}

void choose_blas_core() {
  if (std::getenv(kVariable) != nullptr) return;
  const auto better = better_blas_core(blas_core(), cpu_vectors());
  if (!better.empty()) switch_blas_core(better);
}

}  // namespace vitrine::kernels
