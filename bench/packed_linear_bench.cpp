// Linear layers of ViT-S/16 at 224 pixels, with sgemm and with packed weights, on one thread:
// --benchmark_filter=int8/1536 and so on. Arguments: images, outputs, inputs; the counter is
// multiply-adds per second.

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <optional>

#include "vitrine/ops/packed_linear.h"
#include "vitrine/ops/runtime.h"

namespace vitrine {
namespace {

constexpr int64_t kTokens = 197;

void linear(benchmark::State& state, std::optional<Precision> precision) {
  const torch::InferenceMode no_gradients;
  const auto M = state.range(0) * kTokens, N = state.range(1), K = state.range(2);
  const auto x = torch::randn({M, K}), weight = torch::randn({N, K}), bias = torch::randn({N});
  const auto packed = precision ? pack_weight(weight, *precision) : nullptr;
  for (auto _ : state)
    benchmark::DoNotOptimize(packed ? packed->product(x, bias) : torch::linear(x, weight, bias));
  state.counters["mul_adds"] = benchmark::Counter(static_cast<double>(M * N * K),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void vit_small(benchmark::internal::Benchmark* b) {
  for (const int64_t images : {1, 8}) {
    b->Args({images, 1152, 384});  // queries, keys and values
    b->Args({images, 384, 384});   // output of attention
    b->Args({images, 1536, 384});  // feed-forward, in
    b->Args({images, 384, 1536});  // and out
  }
}

BENCHMARK_CAPTURE(linear, sgemm, std::nullopt)->Apply(vit_small);
BENCHMARK_CAPTURE(linear, fp32, Precision::Float32)->Apply(vit_small);
BENCHMARK_CAPTURE(linear, bf16, Precision::BFloat16)->Apply(vit_small);
BENCHMARK_CAPTURE(linear, int8, Precision::Int8)->Apply(vit_small);

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  vitrine::set_up_runtime(/*threads=*/1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
