#pragma once

#include <cstdint>

// Rows of sparse attention whose weights become bf16 at once. Scores lie in fp32 in rows whose
// length is a multiple of `kRowStep`; what they become is written as bf16, two numbers to a word,
// with 0 where a query does not see a key: outside of low .. high - 1.
namespace vitrine::kernels {

inline constexpr int64_t kRowStep = 16;

/// One step of online softmax (`online_softmax_update`) over a row of n scores, of which n is a
/// multiple of `kRowStep`: words = exp(score - running_max). Returns the factor for all that was
/// summed before. The exponentials also stay in `row`, where the others become 0.
float bf16_softmax_update(float* row, int64_t n, int64_t low, int64_t high, float& running_max,
                          float& running_sum, int32_t* words);

/// words = exp(score - log_sum), which also stay in `row`.
void bf16_softmax_from_logsumexp(float* row, int64_t n, int64_t low, int64_t high, float log_sum,
                                 int32_t* words);

/// words = p[i] * (d[i] - dot).
void bf16_softmax_gradient_row(const float* p, const float* d, int64_t n, int64_t low, int64_t high,
                               float dot, int32_t* words);

}  // namespace vitrine::kernels
