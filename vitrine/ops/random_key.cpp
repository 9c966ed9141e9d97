#include "vitrine/ops/random_key.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

namespace vitrine {

uint64_t draw_random_key() {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

}  // namespace vitrine
