#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/labs/self_attention/sentence_model.h"
#include "vitrine/plot/colors.h"

namespace vitrine::labs::self_attention {

/// A tensor inside the attention layer: `key` names it in the lab's texts.
struct TensorShape {
  std::string key;
  std::vector<int64_t> sizes;
};

/// What happens inside the first attention layer of the language model, and what one of its heads
/// makes of the sentence. What a token may not see is NaN.
struct SelfAttentionParts {
  std::vector<TensorShape> shapes{};         // in the order of the computation
  plot::Matrix queries{}, keys{}, values{};  // of the head, (T, D)
  plot::Matrix scores{}, weights{};          // (T, T)
  plot::Matrix output{};                     // (T, D)
  double difference = 0;  // greatest, between the layer's output and the same put together here
};

/// The layer computed step by step; `head` counts from 0.
SelfAttentionParts self_attention_parts(const SentenceModel& model, const std::string& sentence,
                                        int64_t head);

/// Where a head looks, in the mean over the rows of its weights: how much weight is on what.
struct HeadView {
  double own = 0;      // the word itself
  double before = 0;   // the token before it
  double start = 0;    // the start, if that is not the token before
  double rest = 0;     // all others
  double entropy = 0;  // as a share of the greatest: 0 = one token, 1 = all visible ones alike
};

/// How the heads of one layer differ. The first token sees only itself, so it does not count.
struct HeadDiversity {
  plot::Matrix variance{};   // between the heads, of each pair of tokens; NaN if not visible
  double mean_variance = 0;  // over the pairs that are visible
  double mean_distance = 0;  // between the rows of two heads: 0 = the same, 1 = nothing shared
  std::vector<HeadView> heads{};
};

/// Of one sentence: the weights (T, T) of each head of a layer.
HeadDiversity head_diversity(const std::vector<plot::Matrix>& heads);

/// The mean of each number over the sentences, for one layer; there is no mean of `variance`.
HeadDiversity mean_diversity(const std::vector<SentenceAttention>& sentences, size_t layer);

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

}  // namespace vitrine::labs::self_attention
