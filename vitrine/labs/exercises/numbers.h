#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/labs/sequences/runs.h"

namespace vitrine::labs::exercises {

/// A Transformer with one kind of positions.
struct PositionsRow {
  std::string kind{};  // "none", "sinusoidal", ...
  sequences::WaveScore score{};
  MeanStd shuffling{};  // over seeds: see `shuffling_effect`
};

struct PositionsExercise {
  sequences::WaveSizes sizes{};
  double last_value = 0;             // error of giving the last value once more
  std::vector<PositionsRow> rows{};  // "none" first
};
PositionsExercise train_positions_exercise(const LabOptions& options, const std::string& label,
                                           const std::string& unit);

/// Transformers of one width, cut into this many heads.
struct HeadsRow {
  int64_t heads = 0;
  sequences::WaveScore score{};
  MeanStd entropy{};         // of the last position's weights, in nats, over heads and seeds
  double distinct_lags = 0;  // different steps back at which the heads of one network peak
};

struct HeadsExercise {
  sequences::WaveSizes sizes{};
  int64_t width = 0;  // of a token
  std::vector<HeadsRow> rows{};
};
HeadsExercise train_heads_exercise(const LabOptions& options, const std::string& label,
                                   const std::string& unit);

/// A network on waves of one length.
struct LengthPoint {
  int64_t length = 0;
  double mse = 0;           // on the test part
  double milliseconds = 0;  // of a training step
};

struct LengthsRow {
  sequences::WaveNetwork network = sequences::WaveNetwork::Transformer;
  double rate = 0;                    // found at the length of lab 5
  std::vector<LengthPoint> points{};  // by rising length
  double exponent = 0;                // e in milliseconds ~ length^e
};

struct LengthsExercise {
  sequences::WaveSizes sizes{};
  std::vector<LengthsRow> rows{};  // in the order of kWaveNetworks
};
LengthsExercise train_lengths_exercise(const LabOptions& options, const std::string& label,
                                       const std::string& unit);

}  // namespace vitrine::labs::exercises
