#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// One step of online softmax, whose scores come piece by piece. Turns the scores low .. high - 1
/// of a row of n into exp(score - running_max) and the others into 0, after raising `running_max`
/// to the largest of them and adding to `running_sum`. Returns the factor for all that was summed
/// before.
float online_softmax_update(float* row, int64_t n, int64_t low, int64_t high, float& running_max,
                            float& running_sum);
double online_softmax_update(double* row, int64_t n, int64_t low, int64_t high, double& running_max,
                             double& running_sum);

/// Turns the scores low .. high - 1 of a row of n into exp(score - log_sum), the others into 0.
void masked_softmax_from_logsumexp(float* row, int64_t n, int64_t low, int64_t high, float log_sum);
void masked_softmax_from_logsumexp(double* row, int64_t n, int64_t low, int64_t high,
                                   double log_sum);

/// d[i] = p[i] * (d[i] - dot).
void masked_softmax_gradient_row(const float* p, float* d, int64_t n, float dot);
void masked_softmax_gradient_row(const double* p, double* d, int64_t n, double dot);

}  // namespace vitrine::kernels
