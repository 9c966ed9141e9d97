#include "vitrine/kernels/blas_core.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace vitrine::kernels {

TEST(BlasCore, ForUnknownModelsIsChosenByWhatTheyCan) {
  EXPECT_EQ(better_blas_core("Prescott", {.avx2 = true, .avx512 = true}), "SkylakeX");
  EXPECT_EQ(better_blas_core("Prescott", {.avx2 = true}), "Haswell");
  EXPECT_EQ(better_blas_core("Prescott", {}), "");
}

TEST(BlasCore, OfKnownModelsStays) {
  EXPECT_EQ(better_blas_core("Zen", {.avx2 = true, .avx512 = true}), "");
  EXPECT_EQ(better_blas_core("SkylakeX", {.avx2 = true, .avx512 = true}), "");
}

TEST(BlasCore, IsSwitchedAndGivesTheSameProduct) {
  const auto before = blas_core();
  const auto* setting = std::getenv("OPENBLAS_CORETYPE");
  const auto kept = setting != nullptr ? std::string(setting) : "";
  torch::manual_seed(1);
  const auto a = torch::randn({37, 129}), b = torch::randn({129, 53});
  const auto expected = a.matmul(b);
  if (!switch_blas_core("Prescott")) GTEST_SKIP() << "this OpenBLAS is built for one processor";
  EXPECT_EQ(blas_core(), "Prescott");
  EXPECT_TRUE(torch::allclose(a.matmul(b), expected, /*rtol=*/1e-4, /*atol=*/1e-4));
  EXPECT_TRUE(switch_blas_core(before));
  EXPECT_TRUE(a.matmul(b).equal(expected));
  setting != nullptr ? setenv("OPENBLAS_CORETYPE", kept.c_str(), 1) : unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace vitrine::kernels
