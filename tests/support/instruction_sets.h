#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <hwy/targets.h>

namespace vitrine::test {

/// A test that runs with every instruction set of this processor: with VNNI, with AVX-512, with
/// AVX2, without. The parameter are the targets that are left out.
class EveryInstructionSet : public testing::TestWithParam<int64_t> {
 protected:
  EveryInstructionSet() {
    hwy::DisableTargets(GetParam());
    torch::manual_seed(1);
  }
  ~EveryInstructionSet() override { hwy::DisableTargets(0); }
};

// Targets have a bit each, the newest the lowest.
inline auto instruction_sets() {
  return testing::Values(0, (HWY_AVX3_DL << 1) - 1, (HWY_AVX3 << 1) - 1, (HWY_AVX2 << 1) - 1);
}

}  // namespace vitrine::test
