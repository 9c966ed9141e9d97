#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vitrine/plot/colors.h"

namespace vitrine::labs::basics {

plot::Matrix transposed(const plot::Matrix& matrix);

/// Scaled dot-product attention of three tokens of width 4, step by step.
struct AttentionSteps {
  plot::Matrix queries, keys, values;  // (T, D)
  plot::Matrix scores;                 // Q K^T, (T, T)
  plot::Matrix scaled;                 // scores / sqrt(D)
  plot::Matrix weights;                // softmax of each row
  plot::Matrix output;                 // weights V, (T, D)
  std::vector<double> row_sums;        // of the weights
  // The greatest distance from what the library's operations give.
  double weights_difference = 0, output_difference = 0;
};

/// The steps for small whole numbers that can be followed by hand.
AttentionSteps attention_step_by_step();

/// The weights that one query of width `width` gives three keys, all drawn from unit normals.
struct ScalingExample {
  int64_t width = 0;
  std::vector<double> scores{};         // q k
  std::vector<double> raw{}, scaled{};  // softmax of the scores, and of the scores / sqrt(width)
};

/// The example of textbooks: weights without and with scaling.
inline constexpr std::array<double, 3> kTextbookRaw{0.9, 0.05, 0.05},
    kTextbookScaled{0.5, 0.3, 0.2};

/// Of `draws` draws the one whose weights come closest to the textbooks' example.
ScalingExample textbook_scaling_example(uint64_t seed, int64_t draws);

/// What softmax does to the scores of one query, in the mean over many.
struct SoftmaxStats {
  double entropy = 0;   // nats
  double greatest = 0;  // weight
  double gradient = 0;  // Frobenius norm of d weights / d scores
};

/// The effect of scaling on three keys of one width, in the mean over many draws.
struct ScalingPoint {
  int64_t width = 0;
  double score_deviation = 0;  // standard deviation of q k
  SoftmaxStats raw{}, scaled{};
  ScalingExample first{};  // the first draw
};

/// One point per width, each from its own draws.
std::vector<ScalingPoint> scaling_over_widths(const std::vector<int64_t>& widths, uint64_t seed,
                                              int64_t draws);

/// Attention without projections (Q = K = V = X) over tokens that belong to a few topics: each
/// token is its topic's direction with noise.
struct LongerSequence {
  std::vector<int64_t> topics{};          // of each token
  plot::Matrix weights{};                 // (T, T)
  std::vector<double> within{};           // weight that each token gives to tokens of its topic
  double within_if_even = 0;              // what that would be if all weights were equal
  std::vector<double> before{}, after{};  // cosine to the topic's direction, of input and output
};

/// 16 tokens of four topics, with directions and noise as the seed gives them.
LongerSequence attend_longer_sequence(uint64_t seed);

}  // namespace vitrine::labs::basics
