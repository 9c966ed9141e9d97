#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::labs::block {

/// What the loss of an untrained stack of blocks sends back to each of them.
struct StackGradients {
  int64_t depth = 0;
  // Norm of the gradient, the first block first: of all parameters, and of those that make
  // queries and keys.
  std::vector<double> all{}, queries_keys{};
  double alike = 0;  // mean cosine of the different tokens of an output
};

/// Stacks of several depths in one form: "bare" has neither residuals nor norms, "normed" only
/// norms, "post" and "pre" have both.
struct GradientSeries {
  std::string form{};
  std::vector<StackGradients> stacks{};
};

std::vector<GradientSeries> gradients_by_depth(const std::vector<int64_t>& depths, uint64_t seed);

/// LayerNorm and BatchNorm in training, at one batch size.
struct NormComparison {
  int64_t batch = 0;
  // Root mean square distance of BatchNorm's output from what the whole population's mean and
  // variance would give, with one token per example and with several.
  double batch_error_single = 0, batch_error_several = 0;
  // The distance of LayerNorm's output for an example in the batch from that for it alone.
  double layer_error = 0;
  // How far the output for one example moves when the others of the batch are replaced; NaN where
  // there are none.
  double batch_change = 0, layer_change = 0;
};

/// Tokens per example of `batch_error_several`.
inline constexpr int64_t kSeveralTokens = 8;

/// In the mean over many draws from a population of tokens.
std::vector<NormComparison> compare_norms(const std::vector<int64_t>& batches, int64_t draws,
                                          uint64_t seed);

/// One token alone in its batch: the first channels before and after.
struct SingleTokenNorm {
  std::vector<double> input{}, batch_norm{}, layer_norm{};
};

SingleTokenNorm normalize_single_token(int64_t channels, uint64_t seed);

}  // namespace vitrine::labs::block
