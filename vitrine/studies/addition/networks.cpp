#include <fmt/format.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/data/addition.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/examples.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/models/addition.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/studies/addition/study.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/throughput.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::addition {
namespace {

/// The digits of all pairs, in their order: (10000, 4).
torch::Tensor all_digits() {
  DataConfig config;
  config.dataset.choose("addition");
  return all_examples(*open_data(config, /*seed=*/0).test).inputs;
}

std::shared_ptr<Model> load_model(const fs::path& run) {
  auto model = load_checkpoint(run).model;
  check(model->task() == Task::DigitSum, "study addition: {} does not add", run.string());
  return model;
}

/// One map per layer and head from the weights (H, T, T) of each layer.
std::vector<AttentionMap> maps_of(const std::vector<torch::Tensor>& layers,
                                  const std::vector<std::string>& tokens) {
  std::vector<AttentionMap> maps;
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (int64_t head = 0; head < layers[layer].size(0); ++head)
      maps.push_back(
          {fmt::format("L{} H{}", layer + 1, head + 1), tokens, plain_values(layers[layer][head])});
  return maps;
}

}  // namespace

TrainedNetwork load_network(const PointResult& point, const SweepRun& run) {
  const torch::InferenceMode no_gradients;
  const auto model = load_model(run.folder);
  const auto digits = all_digits();
  torch::Tensor sums;
  constexpr double kSeconds = 0.3;
  const auto measured =
      measure_steps([&] { sums = decode_sums(model->forward(digits)); }, kSeconds);
  const auto* sum = sums.data_ptr<int64_t>();
  return {.seed = run.seed,
          .settings = point.point.settings,
          .answers = {.name = run.folder.filename().string(), .sums = {sum, sum + sums.numel()}},
          .metrics = RunFolder::open(run.folder).metrics(),
          .predict_milliseconds = measured.milliseconds,
          .train_seconds = run.outcome->seconds,
          .bytes = run.outcome->checkpoint_bytes,
          .parameters = run.outcome->parameters};
}

AttentionStudy study_attention(const fs::path& run) {
  const torch::InferenceMode no_gradients;
  const auto model = load_model(run);
  const auto digits = all_digits();
  AttentionCapture capture;
  model->forward(digits);
  check(!capture.layers.empty(), "study addition: {} has no attention", run.string());
  AttentionStudy study;
  study.heads = capture.layers[0].weights.size(1);
  const auto units = digits.select(1, 1) + digits.select(1, 3);
  const auto carry = units.ge(10).nonzero().squeeze(1), none = units.lt(10).nonzero().squeeze(1);
  std::vector<torch::Tensor> pair, difference;
  for (const auto& layer : capture.layers) {
    const auto& weights = layer.weights;  // (10000, H, T, T)
    pair.push_back(weights[study.a * 100 + study.b]);
    difference.push_back(weights.index_select(0, carry).mean(0) -
                         weights.index_select(0, none).mean(0));
  }
  study.pair = maps_of(pair, {fmt::format("{}_", study.a / 10), fmt::format("_{}", study.a % 10),
                              fmt::format("{}_", study.b / 10), fmt::format("_{}", study.b % 10)});
  study.carry_difference = maps_of(difference, {"a tens", "a units", "b tens", "b units"});
  return study;
}

}  // namespace vitrine::addition
