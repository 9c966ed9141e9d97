#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/run_curves.h"
#include "vitrine/studies/study.h"

namespace vitrine {

/// The texts of the study, text/CODE.yaml.
const report::TextSet& scratch_texts();

}  // namespace vitrine

namespace vitrine::scratch {

/// What recipes/vit-302m-cifar10.yaml does, the reference of the study.
inline constexpr double kReferenceRate = 5e-7;
inline constexpr int64_t kReferenceDim = 1024;
inline constexpr int64_t kReferenceUpdates = 76'800;  // 800 epochs of 49,000 images by 512

/// All runs with one learning rate.
struct RateRuns {
  double rate = 0;
  PointResult point{};
  std::vector<TimeCurve> loss{};  // of training; of each run that did not fail
};

/// Everything the study found; without rates if it has not been run.
struct ScratchStudy {
  double minutes = 0;  // of training per run
  int64_t parameters = 0, dim = 0, batch = 0;
  std::vector<RateRuns> rates{};  // rising
};

/// The learning rate with the best mean accuracy on the validation split, the smaller of equals;
/// null if there is none of which no run failed.
const RateRuns* best_rate(const ScratchStudy& study);

/// The only part of the study: the sweep rates.yaml.
const std::vector<std::string>& scratch_parts();

/// Runs the sweep. Stops after Ctrl-C: see `interrupted`.
ScratchStudy run_scratch_study(const StudyOptions& options);

/// Writes what the study found into `folder`: a page that needs nothing but itself for each
/// language, with its figures as PNG and SVG.
void write_scratch_report(const ScratchStudy& study, const fs::path& folder,
                          const std::vector<std::string>& languages = {});

}  // namespace vitrine::scratch
