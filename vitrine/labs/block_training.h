#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/core/mean_std.h"
#include "vitrine/labs/block_numbers.h"
#include "vitrine/labs/lab.h"

namespace vitrine::labs {

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

}  // namespace vitrine::labs
