#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/studies/measured_part.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/studies/zoo/study.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/throughput.h"

namespace vitrine::zoo {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NetworkSpeed, network, images_per_second)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SpeedPart, threads, batch, networks)

namespace {

constexpr auto kSpeed = "speed";

/// A network's sweep, and the recipe of its only point.
struct NetworkSweep {
  std::string network;
  fs::path file;
  SweepConfig config;
  Recipe recipe;
};

NetworkSweep sweep_of(const StudyOptions& o, const std::string& network) {
  const auto file = o.sweeps / (network + ".yaml");
  auto config = part_config(o, file);
  if (o.smoke) set_smoke_images(config);
  const auto points = sweep_points(config);
  check(points.size() == 1, "study zoo: {} has {} points, expected one", file.string(),
        points.size());
  const auto recipe =
      read_recipe(config.recipe.string(), run_overrides(points[0], config.seeds[0], config.budget));
  return {network, file, config, recipe};
}

TrainedNetwork trained_network(const Recipe& recipe, const PointResult& point) {
  const auto summary = summarize(recipe.model);
  TrainedNetwork network{.model = recipe.model.name(),
                         .parameters = summary.parameters,
                         .multiply_adds = summary.multiply_adds,
                         .batch = recipe.data.batch,
                         .point = point};
  for (const auto& run : point.runs) {
    if (run.failed()) continue;
    const auto lines = read_metrics(RunFolder::open(run.folder).metrics());
    network.accuracy.push_back(validation_curve(lines, run.outcome->selection_metric.name));
    network.loss.push_back(training_curve(lines, kLossName));
  }
  return network;
}

/// With one thread, as the runs have it.
SpeedPart measure_speed(const std::vector<NetworkSweep>& sweeps, bool smoke) {
  SpeedPart part{.threads = set_up_runtime(/*threads=*/1), .batch = smoke ? 4 : 64};
  const ThroughputOptions options{.batch = part.batch, .seconds = smoke ? 0.05 : 3};
  Progress progress(kSpeed, std::ssize(sweeps), "networks");
  for (const auto& sweep : sweeps) {
    const auto measured = measure_inference(*sweep.recipe.model.build(), options);
    part.networks.push_back(
        {sweep.network, 1e3 * static_cast<double>(part.batch) / measured.milliseconds});
    progress.update(std::ssize(part.networks), sweep.network);
  }
  return part;
}

}  // namespace

const std::vector<std::string>& network_names() {
  static const std::vector<std::string> names = {"vit",    "vit-performer", "swin", "swin-v2",
                                                 "pvt",    "pvt-v2",        "cct",  "cvt",
                                                 "resnet", "hybrid",        "t2t",  "tnt"};
  return names;
}

const std::vector<std::string>& zoo_parts() {
  static const auto parts = [] {
    auto all = network_names();
    all.push_back(kSpeed);
    return all;
  }();
  return parts;
}

double TrainedNetwork::training_images_per_second(const RunOutcome& outcome) const {
  return static_cast<double>(outcome.steps * batch) / outcome.seconds;
}

ZooStudy run_zoo_study(const StudyOptions& o) {
  constexpr double kMinute = 60;  // seconds
  check_parts(o, "zoo", zoo_parts());
  std::vector<NetworkSweep> sweeps;
  std::vector<fs::path> files;
  for (const auto& network : network_names()) {
    sweeps.push_back(sweep_of(o, network));
    files.push_back(sweeps.back().file);
  }
  make_folder(o.out);
  ZooStudy study{.minutes = sweeps[0].config.budget / kMinute};
  for (const auto& [network, file, config, recipe] : sweeps)
    if (const auto result = run_part(o, network, file, config))
      study.networks[network] = trained_network(recipe, result->points.at(0));
  study.speed = measured_part<SpeedPart>(
      o, kSpeed, [&] { return measure_speed(sweeps, o.smoke); }, files);
  return study;
}

}  // namespace vitrine::zoo
