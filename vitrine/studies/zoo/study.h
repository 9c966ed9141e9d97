#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/run_curves.h"
#include "vitrine/studies/study.h"

namespace vitrine {

/// The texts of the study, text/CODE.yaml.
const report::TextSet& zoo_texts();

}  // namespace vitrine

namespace vitrine::zoo {

/// The networks that are compared, each a sweep NAME.yaml. Relatives follow each other.
const std::vector<std::string>& network_names();

/// A network and its runs, one per seed.
struct TrainedNetwork {
  std::string model{};  // its name in the registry
  int64_t parameters = 0, multiply_adds = 0;
  int64_t batch = 0;
  PointResult point{};
  std::vector<TimeCurve> accuracy{};  // on the validation split; of each run that did not fail
  std::vector<TimeCurve> loss{};      // of training

  double training_images_per_second(const RunOutcome& outcome) const;
};

/// How fast networks with random weights classify.
struct NetworkSpeed {
  std::string network{};
  double images_per_second = 0;
};
struct SpeedPart {
  int64_t threads = 1, batch = 0;
  std::vector<NetworkSpeed> networks{};
};

/// Everything the study found; what has not been run is empty.
struct ZooStudy {
  double minutes = 0;  // of training per run
  std::map<std::string, TrainedNetwork> networks{};
  std::optional<SpeedPart> speed{};
};

/// The parts of the study: the networks, then their speed.
const std::vector<std::string>& zoo_parts();

/// Trains the networks of the parts, each for the same time, and takes the others as far as they
/// are complete. Stops after Ctrl-C: see `interrupted`.
ZooStudy run_zoo_study(const StudyOptions& options);

/// Writes what the study found into `folder`: a page that needs nothing but itself for each
/// language, with its figures as PNG and SVG. Parts that have not been run are named as missing.
void write_zoo_report(const ZooStudy& study, const fs::path& folder,
                      const std::vector<std::string>& languages = {});

}  // namespace vitrine::zoo
