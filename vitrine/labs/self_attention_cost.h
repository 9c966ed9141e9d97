#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::labs {

/// What one layer asks for at one length of the sequence.
struct LayerCost {
  double chain = 0;          // operations of the forward pass that must wait for one another
  double milliseconds = 0;   // of a forward pass without gradients, median
  double megabytes = 0;      // at most, of a forward pass that is kept for the backward pass
  double multiply_adds = 0;  // of the matrix products, by formula
};

/// An RNN layer and a self-attention layer of the same width, over rising lengths.
struct CostCurves {
  int64_t width = 64, heads = 4;
  std::vector<int64_t> lengths{};
  std::vector<LayerCost> rnn{}, attention{};  // one for each length
  int64_t fitted_from = 0;                    // the exponents are those of the lengths from here on
};

/// Measures torch's RNN and the library's attention layer; timings vary from run to run.
CostCurves measure_costs(const std::vector<int64_t>& lengths, double seconds_each, uint64_t seed,
                         const std::string& label);

/// The p of y = c n^p for one figure of the layers, fitted to the upper half of the lengths.
double cost_exponent(const CostCurves& curves, const std::vector<LayerCost>& layer,
                     double LayerCost::*figure);

/// How much the last output depends on inputs before it: the norm of the gradient that reaches
/// each of them, in the mean over layers with random weights.
struct ReachCurves {
  std::vector<double> distance{};  // steps back, from 0
  std::vector<double> rnn{}, attention{};
  double rnn_factor = 0, attention_factor = 0;  // of the gradient, with each step further back
};

/// Over sequences of this length, in the mean over so many layers of each kind.
ReachCurves measure_reach(int64_t length, int64_t layers, uint64_t seed);

}  // namespace vitrine::labs
