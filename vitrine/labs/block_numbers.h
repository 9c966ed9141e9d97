#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/plot/colors.h"

namespace vitrine::labs {

/// The tokens after one of the block's steps. Mean and variance are those of one token's channels,
/// averaged over the tokens.
struct BlockStep {
  std::string name{};  // "input", "attention", "add1", "norm1", "feed_forward", "add2", "norm2"
  double mean = 0, variance = 0;
  double least_variance = 0, greatest_variance = 0;  // over the tokens
  std::vector<double> values{};                      // all of them
};

/// A part of the block and how many numbers it learns.
struct BlockPart {
  std::string name{};     // "attention", "norm1", "feed_forward", "norm2"
  std::string formula{};  // of its parameters in d, the width
  int64_t parameters = 0;
};

/// Whom one attention head looks at.
struct HeadMap {
  plot::Matrix weights{};  // (tokens, tokens): a row asks, the columns are looked at
  double evenness = 0;     // mean entropy of a row as a share of ln(tokens): 1 for even weights
};

/// An untrained post-norm encoder block, walked through step by step.
struct BlockTrace {
  int64_t tokens = 0, width = 0, hidden = 0;
  std::vector<BlockStep> steps{};
  std::vector<BlockPart> parts{};
  std::vector<HeadMap> heads{};
  double difference = 0;  // greatest distance from what the block itself gives
};

/// The words are random embeddings with sinusoidal positions.
BlockTrace trace_block(int64_t words, uint64_t seed);

/// An activation function and its slope.
struct ActivationCurve {
  std::string name{};  // "gelu", "relu"
  std::vector<double> x{}, y{}, slope{};
  double lowest = 0, lowest_at = 0;  // the least value and where it lies
};

std::vector<ActivationCurve> activation_curves();

}  // namespace vitrine::labs
