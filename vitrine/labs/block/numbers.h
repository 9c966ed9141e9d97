#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/core/mean_std.h"
#include "vitrine/labs/lab.h"
#include "vitrine/plot/colors.h"

namespace vitrine::labs::block {

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

/// An untrained post-norm encoder block, followed step by step.
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

/// A deep stack that learns the waves' next value, in one setting and with several seeds.
struct NormTraining {
  std::string place{};  // of the norms: "pre", "post"
  bool warmup = false;
  std::vector<double> steps{};    // at which it was validated
  std::vector<MeanStd> errors{};  // mean squared error on the validation part at those steps
  MeanStd test{};                 // mean squared error of the best weights
};

struct NormTrainings {
  int64_t layers = 0, seeds = 0, warmup_steps = 0, total_steps = 0;
  double rate = 0;
  double constant = 0;  // mean squared error of always giving the mean
  std::vector<NormTraining> settings{};
  // Of the first and of the middle block of the first pre-norm network with warm-up, in the mean
  // over the test waves.
  std::vector<HeadMap> first_heads{}, middle_heads{};
  int64_t middle_layer = 0;  // counted from 1
};

/// `label` and `unit` name the progress, here and below.
NormTrainings train_norm_places(const LabOptions& options, const std::string& label,
                                const std::string& unit);

/// A small Transformer on the waves with one activation and one learning rate.
struct ActivationTraining {
  std::string activation{};  // "gelu", "relu"
  double rate = 0;
  MeanStd test{};  // mean squared error
  // Share of the hidden units that no test wave gives a gradient to.
  MeanStd dead{};
};

struct ActivationTrainings {
  int64_t seeds = 0, epochs = 0, units = 0;  // `units`: hidden ones of a network
  std::vector<ActivationTraining> settings{};
};

ActivationTrainings train_activations(const LabOptions& options, const std::string& label,
                                      const std::string& unit);

}  // namespace vitrine::labs::block
