#include "vitrine/ops/runtime_report.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <regex>
#include <vector>

#include "vitrine/kernels/blas_core.h"
#include "vitrine/kernels/packed_product.h"

namespace vitrine {
namespace {

std::string used_instructions() {
  const auto cpu = kernels::cpu_vectors();
  std::vector<std::string> used;
  if (cpu.avx2) used.push_back("AVX2");
  if (cpu.avx512) used.push_back("AVX-512");
  if (kernels::has_int8_products()) used.push_back("AVX-512 VNNI");
  if (kernels::has_bf16_products()) used.push_back("AVX-512 BF16");
  return used.empty() ? "baseline" : fmt::format("{}", fmt::join(used, ", "));
}

/// The number in torch's "Intel(R) MKL-DNN v2.6.3 (Git Hash ...)".
std::string onednn_version() {
  const auto text = at::get_mkldnn_version();
  std::smatch found;
  return std::regex_search(text, found, std::regex("v([0-9.]+)")) ? found[1].str() : "none";
}

}  // namespace

std::string runtime_report() {
  kernels::choose_blas_core();  // as whatever computes does
  return fmt::format("torch {}\n{}, kernels {}\noneDNN {}\ninstructions {}\n", TORCH_VERSION,
                     kernels::blas_version(), kernels::blas_core(), onednn_version(),
                     used_instructions());
}

}  // namespace vitrine
