#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/labs/lab.h"
#include "vitrine/plot/colors.h"

namespace vitrine::labs::positions {

/// Positions that the tables of lab 3 know; the first `kTrainedPositions` play the part of those
/// that a network saw in training.
inline constexpr int64_t kAllPositions = 256, kTrainedPositions = 64;
inline constexpr int64_t kEncodingWidth = 64;
/// The farthest distance that has a bias of its own in relative positions.
inline constexpr int64_t kFarthestBias = 16;

/// What an untrained encoder block gives for a sentence and for the same words in reverse order.
struct OrderEffect {
  std::string kind{};       // of positions: "none", "sinusoidal", ...
  plot::Matrix sentence{};  // outputs (words, channels)
  plot::Matrix reversed{};  // the same words' outputs in the reversed sentence
  double word_change = 0;   // greatest difference between the two
  double mean_change = 0;   // greatest difference between the means over the words
};

/// One effect per kind, "none" first; all use the same words and the same weights, in a post-norm
/// block of double precision. The last, "linear_pre", is a pre-norm block with its final norm.
std::vector<OrderEffect> order_effects(int64_t words, uint64_t seed);

/// A table of positions: a row is what is added to the word at that place.
struct Encoding {
  std::string kind{};
  plot::Matrix table{};             // (kTrainedPositions, kEncodingWidth)
  double low = 0, high = 0;         // its least and its greatest value
  int64_t distinct = 0;             // rows that differ from all others
  std::vector<double> norms{};      // of the rows
  std::vector<double> to_middle{};  // row . middle row / middle row . middle row
};

/// "sinusoidal", "learned" (as it is before training) and "linear".
std::vector<Encoding> encodings(uint64_t seed);

/// Which bias relative positions use for each pair of places: their distance, held within
/// kFarthestBias.
plot::Matrix clamped_distances(int64_t positions);

/// Cosine of the rows of two positions, in the mean over all pairs at a distance.
struct SimilarityRow {
  int64_t distance = 0;
  double sinusoidal = 0, learned = 0, linear = 0;
};

struct Similarity {
  plot::Matrix sinusoidal{};  // PE PE^T / (C / 2), (kTrainedPositions, kTrainedPositions)
  std::vector<SimilarityRow> rows{};
  // By distance 0, 1, ...: mean over the sinusoidal pairs, and the greatest distance from it.
  std::vector<double> by_distance{};
  double spread = 0;
};

Similarity position_similarity(uint64_t seed);

/// A pair of sinusoidal channels (sin, cos) at a position, rotated by the angle of a shift.
struct RotatedPair {
  int64_t pair = 0;
  double angle = 0;  // radians
  std::array<double, 2> before{}, rotated{}, after{};
};

std::vector<RotatedPair> rotated_pairs(int64_t position, int64_t shift);

/// How well PE(pos + shift) follows from PE(pos).
struct ShiftFit {
  int64_t shift = 0;
  double rotation = 0;  // greatest |PE(pos + shift) - R PE(pos)| of sinusoidal positions
  // With the best matrix for even positions: |error| / |PE| at the odd ones.
  double sinusoidal = 0, learned = 0, linear = 0;
};

std::vector<ShiftFit> shift_fits(const std::vector<int64_t>& shifts, uint64_t seed);

/// What an encoding gives for positions that training never showed.
struct Extrapolation {
  std::string kind{};
  double trained_low = 0, trained_high = 0;  // of its values in training
  double low = 0, high = 0;                  // of its values beyond
  double outside = 0;    // share of the values beyond that their channel never had in training
  int64_t distinct = 0;  // new positions that it tells apart
};

/// "sinusoidal" and "linear", which have values there.
std::vector<Extrapolation> extrapolations();

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

}  // namespace vitrine::labs::positions
