#pragma once

#include <cstdint>
#include <string>

#include "vitrine/train/config.h"

namespace vitrine::labs {

/// How a lab trains a network on waves: what differs from one of its runs to another.
struct WaveRecipe {
  std::string name{};
  std::string model{};  // the recipe's `model` part as YAML: "name: wave_rnn, cell: lstm"
  int64_t length = 20;  // of the waves
  int64_t batch = 64;
  int64_t epochs = 1;
  double rate = 3e-3;
  std::string schedule = "cosine";
  int64_t warmup_epochs = 1;
  double clip = 0;
  uint64_t seed = 1;
};

Recipe recipe_of(const WaveRecipe& wish);

}  // namespace vitrine::labs
