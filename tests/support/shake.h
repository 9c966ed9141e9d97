#pragma once

#include <torch/torch.h>

namespace vitrine::test {

/// Moves all weights a little: those that start at zero let no signal and no gradient through.
inline void shake(torch::nn::Module& module, double by) {
  const torch::NoGradGuard no_grad;
  for (auto& p : module.parameters()) p.add_(by * torch::randn_like(p));
}

}  // namespace vitrine::test
