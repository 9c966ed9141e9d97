#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/labs/sequences/runs.h"

namespace vitrine::labs {

/// A Transformer with one kind of positions.
struct PositionsRow {
  std::string kind{};  // "none", "sinusoidal", ...
  WaveScore score{};
  MeanStd shuffling{};  // over seeds: see `shuffling_effect`
};

struct PositionsPractice {
  WaveSizes sizes{};
  double last_value = 0;             // error of giving the last value once more
  std::vector<PositionsRow> rows{};  // "none" first
};
PositionsPractice positions_practice(const LabOptions& options, const std::string& label,
                                     const std::string& unit);

/// Transformers of one width, cut into this many heads.
struct HeadsRow {
  int64_t heads = 0;
  WaveScore score{};
  MeanStd entropy{};         // of the last position's weights, in nats, over heads and seeds
  double distinct_lags = 0;  // different steps back at which the heads of one network peak
};

struct HeadsPractice {
  WaveSizes sizes{};
  int64_t width = 0;  // of a token
  std::vector<HeadsRow> rows{};
};
HeadsPractice heads_practice(const LabOptions& options, const std::string& label,
                             const std::string& unit);

/// A network on waves of one length.
struct LengthPoint {
  int64_t length = 0;
  double mse = 0;           // on the test part
  double milliseconds = 0;  // of a training step
};

struct LengthsRow {
  WaveNetwork network = WaveNetwork::Transformer;
  double rate = 0;                    // found at the length of lab 5
  std::vector<LengthPoint> points{};  // by rising length
  double exponent = 0;                // e in milliseconds ~ length^e
};

struct LengthsPractice {
  WaveSizes sizes{};
  std::vector<LengthsRow> rows{};  // in the order of kWaveNetworks
};
LengthsPractice lengths_practice(const LabOptions& options, const std::string& label,
                                 const std::string& unit);

}  // namespace vitrine::labs
