#include <torch/torch.h>

#include <chrono>

#include "vitrine/infer/generator.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/studies/sparse/measure.h"

namespace vitrine::sparse {
namespace {

template <typename Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

SamplingSpeed sampling_speed(const std::shared_ptr<Model>& model, const std::string& name,
                             int64_t batch) {
  constexpr int64_t kPasses = 5;
  const Generator generator(model, name);
  const auto tokens = generator.decoder().context();
  SamplingSpeed speed{.model = name, .batch = batch, .tokens = tokens, .passes = kPasses};
  const SampleOptions options{.count = batch};
  const double whole = seconds_of([&] { generator.sample(options); });
  speed.cached = static_cast<double>(batch * tokens) / whole;
  // Without kept keys each byte costs a pass over the whole sequence, wherever it stands.
  const torch::NoGradGuard no_grad;
  const auto input = model->example_input(batch);
  const auto one_byte = [&] {
    sample_next_token(model->forward(input).select(1, tokens - 1), options, tokens - 1);
  };
  one_byte();
  const double passes = seconds_of([&] {
    for (int64_t i = 0; i < kPasses; ++i) one_byte();
  });
  speed.uncached = static_cast<double>(batch * kPasses) / passes;
  return speed;
}

}  // namespace

SamplingPart measure_sampling(const std::vector<std::string>& models,
                              const std::vector<std::string>& overrides,
                              const std::vector<int64_t>& batches) {
  torch::manual_seed(1);
  SamplingPart part{.threads = torch::get_num_threads()};
  for (const auto& name : models) {
    const auto model = read_model("name: " + name, overrides, "study sparse").build();
    for (const auto batch : batches) part.speeds.push_back(sampling_speed(model, name, batch));
  }
  return part;
}

}  // namespace vitrine::sparse
