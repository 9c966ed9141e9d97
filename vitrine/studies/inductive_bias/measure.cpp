#include "vitrine/studies/inductive_bias/measure.h"

#include <torch/torch.h>

#include <array>

#include "vitrine/core/progress.h"
#include "vitrine/data/examples.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/inspect/rollout.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/studies/sweep_figure.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::inductive_bias {
namespace {

using Layers = std::vector<std::vector<double>>;

constexpr int64_t kBatch = 50;

Recipe recipe_of(const fs::path& run) { return read_stored_recipe(RunFolder::open(run)); }

/// The first test images of a run's data, as it prepares them or as `preprocess` does.
Batch test_images(const Recipe& recipe, int64_t count,
                  const std::optional<Preprocess>& preprocess = {}) {
  auto config = recipe.data;
  if (preprocess)
    config.preprocess = {.image = preprocess->image,
                         .resize = preprocess->resize,
                         .interpolation = preprocess->interpolation,
                         .mean = preprocess->mean,
                         .std = preprocess->std};
  const auto data = open_data(config, static_cast<uint64_t>(recipe.seed));
  return first_examples(*data.test, count);
}

/// Mean attention distances over the images, in fractions of their side, and that of uniform
/// attention in the first layer; no layers of a network without attention.
std::pair<Layers, double> distances_of(Model& model, const torch::Tensor& images) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const auto side = images.size(3);
  std::vector<torch::Tensor> sums;  // per layer, (H)
  double uniform = 0;
  for (const auto& some : images.split(kBatch)) {
    AttentionCapture capture;
    model.forward(some);
    sums.resize(capture.layers.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto heads = head_distance(capture.layers[i], side).sum(0);
      sums[i] = sums[i].defined() ? sums[i] + heads : heads;
    }
    if (!sums.empty())
      uniform = uniform_distance(capture.layers[0].queries, capture.layers[0].keys, side) /
                static_cast<double>(side);
  }
  Layers layers;
  for (const auto& sum : sums)
    layers.push_back(plain_values(sum / static_cast<double>(images.size(0) * side)));
  return {layers, uniform};
}

/// Probabilities of the classes, (B, N).
torch::Tensor answers(Model& model, const torch::Tensor& images) {
  std::vector<torch::Tensor> all;
  for (const auto& some : images.split(kBatch)) all.push_back(model.forward(some).softmax(1));
  return torch::cat(all);
}

double mean_of(const torch::Tensor& values) {
  return values.to(torch::kDouble).mean().item<double>();
}

}  // namespace

double largest_fraction(const NetworkSweeps& sweeps) {
  double largest = 0;
  for (const auto& [network, sweep] : sweeps)
    for (const auto& point : sweep.points)
      largest = std::max(largest, setting_number(point.point, kFractionKey));
  return largest;
}

std::vector<TrainedNetwork> best_fed(const NetworkSweeps& sweeps) {
  const auto largest = largest_fraction(sweeps);
  std::vector<TrainedNetwork> networks;
  for (const auto& name : network_names()) {
    const auto sweep = sweeps.find(name);
    if (sweep == sweeps.end()) continue;
    for (const auto& point : sweep->second.points)
      for (const auto& run : point.runs)
        if (setting_number(point.point, kFractionKey) == largest && !run.failed())
          networks.push_back({name, run.seed, run.folder});
  }
  return networks;
}

torch::Tensor shifted(const torch::Tensor& images, int64_t down, int64_t right) {
  const auto margin = std::max(std::abs(down), std::abs(right));
  const auto padded = torch::reflection_pad2d(images, {margin, margin, margin, margin});
  return padded.narrow(2, margin - down, images.size(2))
      .narrow(3, margin - right, images.size(3))
      .contiguous();
}

ShiftResponse shift_response(Model& model, const torch::Tensor& images, const torch::Tensor& labels,
                             int64_t most) {
  constexpr std::array<std::pair<int64_t, int64_t>, 4> kDirections = {
      {{1, 0}, {-1, 0}, {0, 1}, {0, -1}}};
  const torch::NoGradGuard no_grad;
  const auto still = answers(model, images);
  ShiftResponse response{
      .changed = {0}, .distance = {0}, .accuracy = {mean_of(still.argmax(1) == labels)}};
  for (int64_t pixels = 1; pixels <= most; ++pixels) {
    double changed = 0, distance = 0, accuracy = 0;
    for (const auto& [down, right] : kDirections) {
      const auto moved = answers(model, shifted(images, pixels * down, pixels * right));
      changed += mean_of(moved.argmax(1) != still.argmax(1)) / kDirections.size();
      distance += mean_of((moved - still).abs().sum(1) / 2) / kDirections.size();
      accuracy += mean_of(moved.argmax(1) == labels) / kDirections.size();
    }
    response.changed.push_back(changed);
    response.distance.push_back(distance);
    response.accuracy.push_back(accuracy);
  }
  return response;
}

LocalityPart measure_locality(const std::vector<TrainedNetwork>& networks, const fs::path& init,
                              int64_t images) {
  LocalityPart part;
  Progress progress("locality", std::ssize(networks), "networks");
  int64_t done = 0;
  for (const auto& [network, seed, run] : networks) {
    progress.update(done++, network);
    const auto recipe = recipe_of(run);
    const auto batch = test_images(recipe, images);
    torch::manual_seed(static_cast<uint64_t>(recipe.seed));  // as training starts
    Locality locality{.network = network, .seed = seed};
    std::tie(locality.before, locality.uniform) = distances_of(*recipe.model.build(), batch.inputs);
    if (locality.before.empty()) continue;
    locality.after = distances_of(*load_checkpoint(run).model, batch.inputs).first;
    part.networks.push_back(locality);
    part.images = batch.size();
  }
  progress.update(done);
  if (!init.empty()) {
    const auto checkpoint = load_checkpoint(init);
    check_usage(checkpoint.info.preprocess.has_value(),
                "study inductive-bias: --init {} is no image classifier", init.string());
    const auto batch =
        test_images(recipe_of(networks.at(0).run), images, checkpoint.info.preprocess);
    Locality locality{.network = checkpoint.info.model.name()};
    std::tie(locality.after, locality.uniform) = distances_of(*checkpoint.model, batch.inputs);
    check_usage(!locality.after.empty(),
                "study inductive-bias: --init {} has no attention over image tokens",
                init.string());
    part.networks.push_back(locality);
    part.init = init.string();
  }
  return part;
}

ShiftPart measure_shifts(const std::vector<TrainedNetwork>& networks, int64_t images) {
  constexpr int64_t kMost = 8;
  ShiftPart part;
  Progress progress("shifts", std::ssize(networks), "networks");
  int64_t done = 0;
  for (const auto& [network, seed, run] : networks) {
    progress.update(done++, network);
    const auto batch = test_images(recipe_of(run), images);
    auto response = shift_response(*load_checkpoint(run).model, batch.inputs, batch.targets, kMost);
    response.network = network;
    response.seed = seed;
    part.networks.push_back(response);
    part.images = batch.size();
  }
  progress.update(done);
  return part;
}

}  // namespace vitrine::inductive_bias
