#include "vitrine/core/random.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace vitrine {

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Random::gamma(double alpha) {
  // Marsaglia and Tsang's method; below 1 it is boosted from alpha + 1.
  if (alpha < 1) return gamma(alpha + 1) * std::pow(1 - uniform(), 1 / alpha);
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Random::beta(double alpha, double beta) {
  const double a = gamma(alpha), b = gamma(beta);
  return a + b > 0 ? a / (a + b) : 0.5;
}

std::vector<int64_t> permutation(int64_t n, Random random) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

}  // namespace vitrine
