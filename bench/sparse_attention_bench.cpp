// One sparse attention forward and backward, strided with both factors, as `vitrine study sparse
// --parts cost` measures it: dimension 256, 2 heads, queries and keys of half the dimension.
// Arguments: tokens, stride. In bf16 as under autocast.

#include <ATen/autocast_mode.h>
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "vitrine/ops/runtime.h"
#include "vitrine/ops/sparse_attention.h"

namespace vitrine {
namespace {

void attention(benchmark::State& state, bool bf16) {
  const auto T = state.range(0);
  const AttentionPattern pattern{.kind = PatternKind::Strided, .stride = state.range(1)};
  const auto input = [&](int64_t width) {
    return torch::randn({1, T, 2, width}).requires_grad_(true);
  };
  const auto q = input(64), k = input(64), v = input(128);
  const auto weight = torch::randn({1, T, 256});
  at::autocast::set_cpu_enabled(bf16);
  for (auto _ : state) {
    const auto out = sparse_attention(q, k, v, pattern);
    benchmark::DoNotOptimize(torch::autograd::grad({out}, {q, k, v}, {weight}));
  }
  at::autocast::set_cpu_enabled(false);
}

void lengths(benchmark::internal::Benchmark* b) {
  b->Args({3072, 64})
      ->Args({12288, 112})
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->UseRealTime();
}

BENCHMARK_CAPTURE(attention, fp32, false)->Apply(lengths);
BENCHMARK_CAPTURE(attention, bf16, true)->Apply(lengths);

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  vitrine::set_up_runtime(/*threads=*/0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
