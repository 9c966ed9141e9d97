#pragma once

#include <array>
#include <string>
#include <vector>

#include "vitrine/studies/addition/answers.h"
#include "vitrine/studies/study.h"

namespace vitrine {

/// The texts of the study, text/CODE.yaml.
const report::TextSet& addition_texts();

}  // namespace vitrine

namespace vitrine::addition {

/// The two kinds of network that learn to add.
enum class Architecture { Cnn, Transformer };
inline constexpr std::array kArchitectures = {Architecture::Cnn, Architecture::Transformer};

/// As files, keys of texts and other names have it: "cnn", "transformer".
inline std::string name_of(Architecture a) {
  return a == Architecture::Cnn ? "cnn" : "transformer";
}

/// The same colours in every figure: indices of `plot::series_color`.
constexpr int64_t color_of(Architecture a) { return a == Architecture::Cnn ? 0 : 1; }

/// One thing for each kind of network.
template <typename T>
struct PerArchitecture {
  T cnn{}, transformer{};

  T& of(Architecture a) { return a == Architecture::Cnn ? cnn : transformer; }
  const T& of(Architecture a) const { return a == Architecture::Cnn ? cnn : transformer; }
};

/// The keys of a recipe that the study varies, besides `kLearningRateKey`.
inline constexpr auto kEmbedKey = "model.embed", kLayersKey = "model.layers",
                      kChannelsKey = "model.channels", kHiddenKey = "model.hidden",
                      kHeldOutKey = "data.validation";

/// One trained network and what it answers.
struct TrainedNetwork {
  int64_t seed = 0;
  std::vector<Setting> settings{};
  AdditionAnswers answers{};
  fs::path metrics{};               // its metrics.jsonl; empty if there is none
  double predict_milliseconds = 0;  // for all 10,000 pairs
  double train_seconds = 0;
  int64_t bytes = 0;  // of the checkpoint
  int64_t parameters = 0;
};

/// Attention weights between the tokens of a sum: row = the token that looks, row by row (T x T).
struct AttentionMap {
  std::string title{};  // names layer and head in any language: "L1 H2"
  std::vector<std::string> tokens{};
  std::vector<double> weights{};
};

/// What the heads of a trained Transformer look at; maps are listed layer by layer.
struct AttentionStudy {
  int64_t heads = 1;                             // per layer
  int a = 57, b = 68;                            // the pair that `pair` is about
  std::vector<AttentionMap> pair{};              // weights for this pair
  std::vector<AttentionMap> carry_difference{};  // mean over pairs with a carry minus those without
};

using Sweeps = PerArchitecture<SweepResult>;                    // no points: not run
using Networks = PerArchitecture<std::vector<TrainedNetwork>>;  // one per seed

/// Everything the study found. What has not been run is empty.
struct AdditionStudy {
  Sweeps first_sweep{};   // low learning rate
  Sweeps second_sweep{};  // higher learning rates
  Sweeps rates{};         // over `kLearningRateKey`
  Sweeps held_out{};      // over `kHeldOutKey`, scored on those pairs
  Sweeps small{};         // small networks, each point sets all it needs
  Networks tuned{};       // the final networks
  Networks low_rate{};    // trained with a low learning rate
  AttentionStudy attention{};
};

/// The best checkpoint of a run that did not fail, asked for all 10,000 sums.
TrainedNetwork load_network(const PointResult& point, const SweepRun& run);

/// What the heads of a run's Transformer look at.
AttentionStudy study_attention(const fs::path& run);

/// The parts of the study, in the order in which they run: quick ones first.
inline const std::vector<std::string>& addition_parts() {
  static const std::vector<std::string> parts = {"final",    "low-rate", "rates", "held-out",
                                                 "smallest", "second",   "first"};
  return parts;
}

/// Runs the parts (the sweeps ARCHITECTURE-PART.yaml) and takes the others as far as they are
/// complete. Stops after Ctrl-C: see `interrupted`.
AdditionStudy run_addition_study(const StudyOptions& options);

/// Writes what the study found into `folder`: a page that needs nothing but itself for each
/// language, with its figures as PNG and SVG; the tables in English as results.md. Parts that have
/// not been run are left out and named as missing.
void write_addition_report(const AdditionStudy& study, const fs::path& folder,
                           const std::vector<std::string>& languages = {});

}  // namespace vitrine::addition
