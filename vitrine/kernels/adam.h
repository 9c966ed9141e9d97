#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// One step's constants.
struct AdamStep {
  double lr, beta1, beta2, eps;
  double decoupled_decay;           // AdamW: the weight shrinks by lr * this
  double l2_decay;                  // Adam: this times the weight is added to the gradient
  double correction1, correction2;  // 1 - beta^t
  double gradient_scale;            // from clipping
};

/// One Adam or AdamW step over n weights with their moments, in one pass over memory.
void adam(const AdamStep& step, float* weight, const float* gradient, float* moment1,
          float* moment2, int64_t n);
void adam(const AdamStep& step, double* weight, const double* gradient, double* moment1,
          double* moment2, int64_t n);

/// The sum of squares, in double.
double sum_of_squares(const float* x, int64_t n);
double sum_of_squares(const double* x, int64_t n);

}  // namespace vitrine::kernels
