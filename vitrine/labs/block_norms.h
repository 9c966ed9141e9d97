#pragma once

#include <cstdint>
#include <vector>

namespace vitrine::labs {

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

}  // namespace vitrine::labs
