#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace vitrine {

/// Counter-based random numbers: the key alone decides the whole sequence, so a sample's
/// augmentation depends on (seed, epoch, index) and never on threads or workers.
class Random {
 public:
  explicit Random(std::initializer_list<uint64_t> key) {
    for (const uint64_t part : key) state_ = mix(state_ ^ mix(part + kGolden));
  }

  uint64_t next() { return mix(state_ += kGolden); }

  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in 0 .. n - 1.
  int64_t below(int64_t n) { return static_cast<int64_t>((Wide{next()} * Wide(n)) >> 64); }
  bool chance(double probability) { return uniform() < probability; }
  /// Standard normal.
  double normal();
  /// Gamma with shape `alpha` and scale 1.
  double gamma(double alpha);
  /// Beta(alpha, beta).
  double beta(double alpha, double beta);

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

  // SplitMix64's finalizer.
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  uint64_t state_ = 0;
};

/// 0 .. n - 1 in an order that `random` decides.
std::vector<int64_t> permutation(int64_t n, Random random);

}  // namespace vitrine
