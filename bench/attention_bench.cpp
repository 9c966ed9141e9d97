// Softmax attention of eight sequences, forward and with its backward pass, on one thread: by
// torch's operators, in fp32 and with bf16 factors. --benchmark_filter=bf16 and so on. Arguments:
// tokens, heads, width of a head; the counter is multiply-adds per second.

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "vitrine/ops/attention.h"
#include "vitrine/ops/runtime.h"

namespace vitrine {
namespace {

constexpr int64_t kSequences = 8;
enum class Pass { Forward, Both };

void attention(benchmark::State& state, Precision precision, bool reference, Pass pass) {
  const auto T = state.range(0), H = state.range(1), D = state.range(2);
  const bool both = pass == Pass::Both;
  const torch::AutoGradMode gradients(both);
  const auto qkv = torch::randn({kSequences, T, 3, H, D}).requires_grad_(both);
  const auto dy = torch::randn({kSequences, T, H * D});
  for (auto _ : state) {
    const auto y =
        reference ? packed_attention_reference(qkv) : packed_attention(qkv, 0, precision);
    benchmark::DoNotOptimize(both ? torch::autograd::grad({y}, {qkv}, {dy})[0] : y);
  }
  const auto products = both ? 6 : 2;  // scores, outputs; twice that backward
  state.counters["mul_adds"] =
      benchmark::Counter(static_cast<double>(products * kSequences * T * T * H * D),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({65, 3, 64});   // vit_c10_small
  b->Args({197, 6, 64});  // ViT-S/16 at 224 pixels
  b->Args({577, 6, 64});  // and at 384
}

BENCHMARK_CAPTURE(attention, torch_forward, Precision::Float32, true, Pass::Forward)->Apply(shapes);
BENCHMARK_CAPTURE(attention, fp32_forward, Precision::Float32, false, Pass::Forward)->Apply(shapes);
BENCHMARK_CAPTURE(attention, bf16_forward, Precision::BFloat16, false, Pass::Forward)
    ->Apply(shapes);
BENCHMARK_CAPTURE(attention, torch_both, Precision::Float32, true, Pass::Both)->Apply(shapes);
BENCHMARK_CAPTURE(attention, fp32_both, Precision::Float32, false, Pass::Both)->Apply(shapes);
BENCHMARK_CAPTURE(attention, bf16_both, Precision::BFloat16, false, Pass::Both)->Apply(shapes);

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  vitrine::set_up_runtime(/*threads=*/1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
