#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/studies/addition/answers.h"
#include "vitrine/studies/addition/architecture.h"
#include "vitrine/studies/sweep_config.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

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

/// Everything the study found. What has not been run is absent or empty.
struct AdditionStudy {
  PerArchitecture<std::optional<SweepResult>> first_sweep{};   // low learning rate
  PerArchitecture<std::optional<SweepResult>> second_sweep{};  // higher learning rates
  PerArchitecture<std::optional<SweepResult>> rates{};         // over `kLearningRateKey`
  PerArchitecture<std::vector<TrainedNetwork>> tuned{};        // the final networks, one per seed
  PerArchitecture<std::vector<TrainedNetwork>> low_rate{};     // trained with a low learning rate
  PerArchitecture<std::optional<SweepResult>>
      held_out{};  // over `kHeldOutKey`, scored on those pairs
  PerArchitecture<std::optional<SweepResult>>
      small{};  // small networks, each point sets all it needs
  std::optional<AttentionStudy> attention{};
};

}  // namespace vitrine
