// Tokens sampled by sparse networks with random weights, as `vitrine sample` does it: one step of
// all sequences at a time, from the 129th token on. Argument: sequences at once; the counter is
// tokens per second.

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "vitrine/infer/precision.h"
#include "vitrine/infer/sampler.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/ops/runtime.h"

namespace vitrine {
namespace {

constexpr int64_t kStepsBefore = 128;

/// Sequences without end: new ones begin where the others are full.
class Sequences {
 public:
  Sequences(const std::string& name, int64_t count)
      : model_(read_model("name: " + name, {}, "bench").build()), options_{.count = count} {
    model_->eval();
    prepare_for_inference(*model_, Precision::Float32, name);
    begin();
  }

  void step() {
    if (state_->position() == model_->decoder()->context()) begin();
    const auto position = state_->position();
    last_ = sample_next_token(model_->decoder()->step(last_, *state_), options_, position);
  }

 private:
  void begin() {
    last_ = torch::Tensor();
    state_ = model_->decoder()->make_state(options_.count);
    for (int64_t i = 0; i < kStepsBefore; ++i) step();
  }

  std::shared_ptr<Model> model_;
  SampleOptions options_;
  std::unique_ptr<DecoderState> state_;
  torch::Tensor last_;
};

void sample(benchmark::State& state, const char* model) {
  Sequences sequences(model, state.range(0));
  for (auto _ : state) sequences.step();
  state.counters["tokens"] = benchmark::Counter(static_cast<double>(state.range(0)),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void counts(benchmark::internal::Benchmark* b) {
  b->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
}

BENCHMARK_CAPTURE(sample, sparse_c10_tiny, "sparse_c10_tiny")->Apply(counts);
BENCHMARK_CAPTURE(sample, sparse_c10_small, "sparse_c10_small")->Apply(counts);

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  vitrine::set_up_runtime(/*threads=*/0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
