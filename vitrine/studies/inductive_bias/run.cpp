#include "vitrine/core/error.h"
#include "vitrine/studies/inductive_bias/measure.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::inductive_bias {
namespace {

constexpr const char *kUpdates = "updates", *kTime = "time", *kLocality = "locality",
                     *kShifts = "shifts";

/// The sweep at a size that a test can run, on synthetic images.
SweepConfig smoke_sweep(SweepConfig config) {
  for (const auto& [key, value] :
       {Setting("data.dataset", "synthetic"), Setting("data.dataset.train", "600"),
        Setting("data.dataset.test", "100"), Setting("data.batch", "5"),
        Setting("train.epochs", "2")})
    put_setting(config.set, key, value);
  for (auto& axis : config.list)
    if (axis.key == "train.epochs" || axis.key == "train.evaluate_every")
      for (auto& value : axis.values) value = axis.key == "train.epochs" ? "2" : "1";
  return config;
}

NetworkSweeps train_part(const StudyOptions& o, const std::string& part) {
  NetworkSweeps sweeps;
  for (const auto& network : network_names()) {
    const auto file = o.sweeps / fmt::format("{}-{}.yaml", network, part);
    auto config = part_config(o, file);
    if (o.smoke) config = smoke_sweep(std::move(config));
    if (auto result = run_part(o, part, file, config)) sweeps[network] = std::move(*result);
  }
  return sweeps;
}

std::vector<fs::path> checkpoints_of(const std::vector<TrainedNetwork>& networks) {
  std::vector<fs::path> files;
  for (const auto& network : networks) files.push_back(RunFolder::open(network.run).best());
  return files;
}

}  // namespace

const std::vector<std::string>& network_names() {
  static const std::vector<std::string> names = {"vit", "hybrid", "cct", "resnet"};
  return names;
}

const std::vector<std::string>& inductive_bias_parts() {
  static const std::vector<std::string> parts = {kUpdates, kTime, kLocality, kShifts};
  return parts;
}

InductiveBiasStudy run_inductive_bias_study(const StudyOptions& o) {
  check_parts(o, "inductive-bias", inductive_bias_parts());
  check_usage(o.init.empty() || fs::exists(o.init),
              "study inductive-bias: --init {} does not exist", o.init.string());
  make_folder(o.out);
  InductiveBiasStudy study;
  study.updates = train_part(o, kUpdates);
  study.time = train_part(o, kTime);
  const auto networks = best_fed(study.updates);
  check(!networks.empty() || !(o.names(kLocality) || o.names(kShifts)),
        "study inductive-bias: {} and {} ask the networks of the part '{}', which has no finished "
        "sweep; --parts {},{},{} makes all",
        kLocality, kShifts, kUpdates, kUpdates, kLocality, kShifts);
  if (networks.empty()) return study;
  const auto fraction = largest_fraction(study.updates);
  const int64_t images = o.smoke ? 20 : 1000;
  const auto with_fraction = [&](auto part) {
    part.fraction = fraction;
    return part;
  };
  const auto sources = checkpoints_of(networks);
  study.shifts = measured_part<ShiftPart>(
      o, kShifts, [&] { return with_fraction(measure_shifts(networks, images)); }, sources);
  const auto known = read_part<LocalityPart>(part_file(o, kLocality));
  const bool other_weights = known && !o.init.empty() && known->init != o.init.string();
  study.locality = measured_part<LocalityPart>(
      o, kLocality, [&] { return with_fraction(measure_locality(networks, o.init, images)); },
      sources, other_weights);
  return study;
}

}  // namespace vitrine::inductive_bias
