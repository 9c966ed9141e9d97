#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/labs/lab.h"
#include "vitrine/plot/colors.h"

namespace vitrine::labs {

/// How well a small post-norm Transformer with one kind of positions gives the next value of a
/// wave; "linear_pre" is a pre-norm one.
struct TrainedKind {
  std::string kind{};                         // as in `OrderEffect`
  std::vector<std::vector<double>> errors{};  // mean squared error by tested length and seed
};

struct TrainedPositions {
  std::vector<int64_t> lengths{};    // of the tested waves; the first is the one trained on
  std::vector<TrainedKind> kinds{};  // "none" first
  double repeated_last = 0;          // mean squared error of giving the last value once more
  int64_t seeds = 0, epochs = 0, waves = 0;  // `waves` are those trained on
  plot::Matrix bias{};  // of relative positions after training: (heads, steps back from 0)
  // Cosine of two learned positions by their distance 1, 2, ...: before and after training.
  std::vector<double> learned_before{}, learned_after{};
};

/// Trains every kind with several seeds. `label` and `unit` name the progress.
TrainedPositions train_positions(const LabOptions& options, const std::string& label,
                                 const std::string& unit);

}  // namespace vitrine::labs
