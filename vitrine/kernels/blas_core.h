#pragma once

#include <string>

namespace vitrine::kernels {

/// What the processor can compute with, as far as it decides between OpenBLAS's kernels.
struct CpuVectors {
  bool avx2 = false;    ///< AVX2 and FMA
  bool avx512 = false;  ///< AVX-512 F, BW, DQ and VL
};

CpuVectors cpu_vectors();

/// Name, version and threads of the BLAS, such as "OpenBLAS 0.3.21 (OpenMP)".
std::string blas_version();

/// The processor for which OpenBLAS has chosen its kernels, such as "Haswell".
std::string blas_core();

/// The kernels to use in place of those for `core`; empty if these are right.
std::string better_blas_core(const std::string& core, const CpuVectors& cpu);

/// Has OpenBLAS use the kernels for `core`; false if this OpenBLAS cannot. Nothing else may
/// multiply meanwhile.
bool switch_blas_core(const std::string& core);

/// OpenBLAS knows processors by their model numbers and takes kernels from before AVX for a model
/// newer than itself, at a fifth of the speed. Has it use those that fit what the processor can do,
/// unless $OPENBLAS_CORETYPE decides.
void choose_blas_core();

}  // namespace vitrine::kernels
