#include "vitrine/inspect/approximation.h"

#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "vitrine/core/error.h"
#include "vitrine/nn/linformer_attention.h"
#include "vitrine/nn/performer_attention.h"
#include "vitrine/nn/reformer_attention.h"

namespace vitrine {
namespace {

constexpr int64_t kHeadWidth = 16;

/// Vectors of one head's tokens, (1, 1, T, D) each.
struct Tokens {
  torch::Tensor q, k, v;
};

torch::Tensor normal_vectors(int64_t T) { return torch::randn({1, 1, T, kHeadWidth}); }

/// Each channel a sum of slow waves over the sequence, with variance 1.
torch::Tensor smooth_vectors(int64_t T) {
  constexpr int64_t kWaves = 8;
  const auto place = torch::arange(T, torch::kFloat).unsqueeze(1) / T;  // (T, 1)
  const auto speed = torch::arange(1, kWaves + 1, torch::kFloat);       // (waves)
  const auto waves = (2 * std::numbers::pi * (place * speed + torch::rand({kWaves}))).cos();
  const auto mixed = waves.matmul(torch::randn({kWaves, kHeadWidth})) * std::sqrt(2.0 / kWaves);
  return mixed.view({1, 1, T, kHeadWidth});
}

/// Short queries and keys: the variance of Performer's estimate grows with exp |q + k|^2, and
/// beyond about 1 it would take far more features than these to see the slope.
Tokens independent_tokens(int64_t T) {
  constexpr double kShort = 0.35;
  return {kShort * normal_vectors(T), kShort * normal_vectors(T), normal_vectors(T)};
}

Tokens smooth_tokens(int64_t T) {
  return {smooth_vectors(T), smooth_vectors(T), smooth_vectors(T)};
}

/// Groups of about 32 tokens that look at each other and carry similar values.
Tokens grouped_tokens(int64_t T) {
  const auto groups = T / 32;
  const auto group = torch::randint(groups, {T}, torch::kLong);
  const auto around = [&](double spread) {
    return normal_vectors(groups).index_select(2, group) + spread * normal_vectors(T);
  };
  return {4 * around(0.2), {}, around(0.5)};
}

torch::Tensor softmax_attention(const Tokens& t) {
  return (t.q.matmul(t.k.transpose(-2, -1)) / std::sqrt(kHeadWidth)).softmax(-1).matmul(t.v);
}

torch::Tensor shared_attention(const Tokens& t) {
  const auto k = t.q / t.q.norm(2, -1, /*keepdim=*/true);
  const auto scores = t.q.matmul(k.transpose(-2, -1)) / std::sqrt(kHeadWidth);
  return (scores - kSelfPenalty * torch::eye(t.q.size(2))).softmax(-1).matmul(t.v);
}

/// (k, T): row i takes the mean of the i-th of k runs of tokens.
torch::Tensor means_of_runs(int64_t k, int64_t T) {
  const auto run = (torch::arange(T, torch::kLong) * k).div(T, /*rounding_mode=*/"floor");
  const auto member = torch::one_hot(run, k).t().to(torch::kFloat);
  return member / member.sum(1, /*keepdim=*/true);
}

/// `first`, twice it, four times it, ... and at the end `last`.
std::vector<double> doublings(int64_t first, int64_t last) {
  std::vector<double> values;
  for (int64_t value = first; value < last; value *= 2)
    values.push_back(static_cast<double>(value));
  values.push_back(static_cast<double>(last));
  return values;
}

std::vector<Tokens> several(int64_t draws, Tokens (*draw)(int64_t T), int64_t T) {
  std::vector<Tokens> made;
  for (int64_t i = 0; i < draws; ++i) made.push_back(draw(T));
  return made;
}

/// Fills in the error of every setting, the mean over the draws.
ApproximationCurve measured(
    ApproximationCurve curve, const std::vector<Tokens>& draws,
    torch::Tensor (*exact)(const Tokens&),
    const std::function<torch::Tensor(const Tokens&, int64_t setting)>& approximate) {
  curve.error.assign(curve.setting.size(), 0);
  for (const auto& tokens : draws) {
    const auto expected = exact(tokens);
    const auto share = expected.norm().item<double>() * static_cast<double>(draws.size());
    for (size_t s = 0; s < curve.setting.size(); ++s) {
      const auto got = approximate(tokens, static_cast<int64_t>(curve.setting[s]));
      curve.error[s] += (got - expected).norm().item<double>() / share;
    }
  }
  return curve;
}

}  // namespace

std::vector<ApproximationCurve> approximation_errors(int64_t tokens, uint64_t seed) {
  constexpr int64_t kMin = 64, kMax = 4096, kBucket = 32;
  check(tokens >= kMin && tokens <= kMax, "approximation: n {} is not between {} and {}", tokens,
        kMin, kMax);
  const torch::NoGradGuard no_grad;
  torch::manual_seed(seed);
  const auto T = tokens;
  std::vector<ApproximationCurve> curves;

  // The two kinds of features differ by a tenth, which few draws would not show.
  const auto independent = several(/*draws=*/32, independent_tokens, T);
  const auto performer = [&](const std::string& name, torch::Tensor (*features)(int64_t)) {
    curves.push_back(measured({"Performer", name, "random features", doublings(16, 1024), {}},
                              independent, softmax_attention, [=](const Tokens& t, int64_t m) {
                                return performer_attention(t.q, t.k, t.v, features(m));
                              }));
  };
  performer("orthogonal", [](int64_t m) { return orthogonal_features(m, kHeadWidth); });
  performer("independent", [](int64_t m) { return torch::randn({m, kHeadWidth}); });

  curves.push_back(measured({"Linformer", "", "projected length k", doublings(16, T), {}},
                            several(/*draws=*/8, smooth_tokens, T), softmax_attention,
                            [T](const Tokens& t, int64_t k) {
                              const auto means = means_of_runs(k, T);
                              return linformer_attention(t.q, t.k, t.v, means, means);
                            }));
  curves.push_back(measured({"Reformer", "", "rounds of hashing", doublings(1, 16), {}},
                            several(/*draws=*/8, grouped_tokens, T), shared_attention,
                            [T](const Tokens& t, int64_t rounds) {
                              const auto turns = lsh_rotations(rounds, kHeadWidth, T, kBucket);
                              return reformer_attention(t.q, t.v, turns, kBucket);
                            }));
  return curves;
}

}  // namespace vitrine
