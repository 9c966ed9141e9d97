#include "vitrine/train/throughput.h"

#include <torch/torch.h>

#include <optional>

#include "vitrine/core/median.h"
#include "vitrine/core/stopwatch.h"
#include "vitrine/data/batch.h"
#include "vitrine/infer/thread_choice.h"
#include "vitrine/models/model.h"
#include "vitrine/train/autocast.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/optimizer.h"

namespace vitrine {
Throughput measure_steps(const std::function<void()>& step, double seconds, bool ops) {
  constexpr double kLongStep = 5;  // seconds: noise matters less, and patience more
  const Stopwatch first;
  step();
  const bool is_long = first.seconds() > kLongStep;
  if (!is_long) step();
  const size_t fewest = is_long ? 3 : 5;
  std::optional<OpProfile> profile;
  if (ops) profile.emplace();
  std::vector<double> times;
  const Stopwatch all;
  while (times.size() < fewest || all.seconds() < seconds) {
    const Stopwatch one;
    step();
    times.push_back(1e3 * one.seconds());
  }
  return {.milliseconds = median(times),
          .steps = static_cast<int64_t>(times.size()),
          .ops = profile ? profile->by_time() : std::vector<OpTime>()};
}

Throughput measure_training(Model& model, const Batch& batch, const ThroughputOptions& o) {
  model.train();
  Optimizer optimizer({}, model.parameter_info());
  const auto objective = make_objective({.task = model.task()}, ObjectiveSettings(/*smoothing=*/0));
  return measure_steps(
      [&] {
        LossAndOutput answer;
        {
          const Autocast autocast(o.precision == Precision::BFloat16);
          answer = objective->loss(model, batch);
        }
        answer.loss.backward();
        optimizer.step(/*lr=*/1e-4, /*gradient_scale=*/1);
        optimizer.zero_gradients();
      },
      o.seconds, o.ops);
}

Throughput measure_training(Model& model, const ThroughputOptions& o) {
  const torch::Device device(o.device);
  model.to(device);
  model.train();
  const auto inputs = model.example_input(o.batch).to(device);
  const auto targets = random_targets(model.task(), model.forward(inputs));
  return measure_training(model, Batch{inputs, targets}, o);
}

Throughput measure_inference(Model& model, const ThroughputOptions& o) {
  const torch::NoGradGuard no_grad;
  const torch::Device device(o.device);
  model.to(device);
  model.eval();
  const auto inputs = model.example_input(o.batch).to(device);
  AdaptiveThreads threads;
  return measure_steps([&] { threads.run(o.batch, [&] { return model.forward(inputs); }); },
                       o.seconds, o.ops);
}

double measure_product_peak(const std::string& device, Precision precision) {
  constexpr int64_t n = 1536;
  const auto dtype = precision == Precision::BFloat16 ? torch::kBFloat16 : torch::kFloat;
  const auto options = torch::TensorOptions(torch::Device(device)).dtype(dtype);
  const auto a = torch::randn({n, n}, options), b = torch::randn({n, n}, options);
  auto c = torch::empty({n, n}, options);
  const auto measured = measure_steps([&] { torch::mm_out(c, a, b); }, /*seconds=*/1);
  return 2.0 * n * n * n / (measured.milliseconds * 1e6);
}

}  // namespace vitrine
