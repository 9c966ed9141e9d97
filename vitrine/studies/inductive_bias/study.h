#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/study.h"

namespace vitrine {

/// The texts of the study, text/CODE.yaml.
const report::TextSet& inductive_bias_texts();

}  // namespace vitrine

namespace vitrine::inductive_bias {

/// What the sweeps vary: the fraction of the training images.
inline constexpr auto kFractionKey = "data.fraction";

/// The networks that are compared, from none to nothing but convolutions: "vit", "hybrid", "cct",
/// "resnet".
const std::vector<std::string>& network_names();

/// The sweeps over the fraction, by network; complete ones only.
using NetworkSweeps = std::map<std::string, SweepResult>;

/// How far the heads of one network look, layer by layer: the mean attention distance as a fraction
/// of the image's side.
struct Locality {
  std::string network{};  // one of `network_names`, or the model of pre-trained weights
  int64_t seed = 0;       // 0: of pre-trained weights
  std::vector<std::vector<double>> before{}, after{};  // (layers, heads); of training
  double uniform = 0;                                  // what uniform attention would give
};

struct LocalityPart {
  int64_t images = 0;
  double fraction = 1;  // of the training images that the networks saw
  std::string init{};   // the file of the pre-trained weights; "": none
  std::vector<Locality> networks{};
};

/// What a shift by 0, 1, 2, ... pixels does to the answers of one network; each number is a mean
/// over the four directions and the images.
struct ShiftResponse {
  std::string network{};
  int64_t seed = 0;
  std::vector<double> changed{};   // fraction of the images whose answer is another class
  std::vector<double> distance{};  // half the sum of the absolute changes of the probabilities
  std::vector<double> accuracy{};
};

struct ShiftPart {
  int64_t images = 0;
  double fraction = 1;  // as in `LocalityPart`
  std::vector<ShiftResponse> networks{};
};

/// Everything the study found; what has not been run is empty.
struct InductiveBiasStudy {
  NetworkSweeps updates{}, time{};  // equal updates, equal time
  std::optional<LocalityPart> locality{};
  std::optional<ShiftPart> shifts{};
};

/// The parts of the study, in the order in which they run.
const std::vector<std::string>& inductive_bias_parts();

/// Runs the parts (the sweeps NETWORK-updates.yaml and NETWORK-time.yaml train) and takes the
/// others as far as they are complete. What is measured is measured on the networks that made equal
/// updates with the most images. Stops after Ctrl-C: see `interrupted`.
InductiveBiasStudy run_inductive_bias_study(const StudyOptions& options);

/// Writes what the study found into `folder`: a page that needs nothing but itself for each
/// language, with its figures as PNG and SVG. Parts that have not been run are named as missing.
void write_inductive_bias_report(const InductiveBiasStudy& study, const fs::path& folder,
                                 const std::vector<std::string>& languages = {});

}  // namespace vitrine::inductive_bias
