#pragma once

#include <cstdint>
#include <vector>

#include "vitrine/labs/sequences_runs.h"
#include "vitrine/plot/colors.h"

namespace vitrine::labs {

/// What one head does at the last position, over all test waves. Steps back count from 0, the last
/// value itself.
struct HeadReading {
  std::vector<double> weights{};  // mean attention weight by steps back
  int64_t lag = 0;                // steps back to the largest of them
  double peak = 0;                // the largest
  double entropy = 0;             // of a wave's weights, in nats, mean over waves
  double steady = 0;              // share of waves whose own largest weight is at `lag`
};

/// The heads of the model's last attention layer.
std::vector<HeadReading> read_heads(Model& model, const WaveTask& task);

/// The attention weights of every head of the last layer for one test wave, each (T, T).
std::vector<plot::Matrix> attention_of_wave(Model& model, const WaveTask& task, int64_t wave);

/// By steps back: how far the prediction moves, on average, when that value is replaced by the mean
/// of all values.
std::vector<double> occlusion_by_step(Model& model, const WaveTask& task);

/// How far the prediction moves, on average, when the values before the last one change places.
double shuffling_effect(Model& model, const WaveTask& task);

}  // namespace vitrine::labs
