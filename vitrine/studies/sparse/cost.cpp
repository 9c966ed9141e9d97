#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <functional>

#include "vitrine/core/median.h"
#include "vitrine/core/peak_memory.h"
#include "vitrine/core/progress.h"
#include "vitrine/ops/sparse_attention.h"
#include "vitrine/studies/sparse/measure.h"

namespace vitrine::sparse {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kHeads = 2, kKeyWidth = 64, kValueWidth = 128;  // widths of one head
constexpr double kMaxDenseBytes = 6e9;

/// One way to compute attention, and how long it has taken each time.
class BenchmarkCase {
 public:
  using Attend = std::function<torch::Tensor(const torch::Tensor& q, const torch::Tensor& k,
                                             const torch::Tensor& v)>;

  /// Inputs are (1, T, H, width), with `heads_first` (1, H, T, width).
  BenchmarkCase(AttentionCost cost, bool heads_first, Attend attend)
      : cost_(cost), attend_(std::move(attend)) {
    for (const auto width : {kKeyWidth, kKeyWidth, kValueWidth}) {
      const auto T = cost.tokens;
      inputs_.push_back(heads_first ? torch::randn({1, kHeads, T, width})
                                    : torch::randn({1, T, kHeads, width}));
      inputs_.back().requires_grad_();
    }
  }

  /// Also warms up.
  void measure_memory() {
    const PeakMemory peak;
    pass();
    cost_.bytes = peak.bytes().value_or(0);
  }

  void measure_time() {
    const auto [forward, total] = pass();
    forward_.push_back(forward);
    total_.push_back(total);
  }

  AttentionCost cost() const {
    auto cost = cost_;
    cost.forward_ms = median(forward_);
    cost.total_ms = median(total_);
    return cost;
  }

 private:
  std::pair<double, double> pass() const {
    const auto start = Clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    };
    const auto out = attend_(inputs_[0], inputs_[1], inputs_[2]);
    const double forward = elapsed();
    torch::autograd::grad({out}, inputs_, {torch::ones_like(out)});
    return {forward, elapsed()};
  }

  AttentionCost cost_;
  Attend attend_;
  std::vector<torch::Tensor> inputs_;
  std::vector<double> forward_, total_;
};

BenchmarkCase sparse_case(int64_t tokens) {
  const AttentionPattern pattern{.kind = PatternKind::Strided, .stride = stride_for(tokens)};
  return {{.tokens = tokens, .stride = pattern.stride},
          /*heads_first=*/false,
          [pattern](const auto& q, const auto& k, const auto& v) {
            return sparse_attention(q, k, v, pattern);
          }};
}

BenchmarkCase dense_case(int64_t tokens) {
  const auto later = torch::ones({tokens, tokens}, torch::kBool).triu_(/*diagonal=*/1);
  return {{.tokens = tokens},
          /*heads_first=*/true,
          [later](const auto& q, const auto& k, const auto& v) {
            const auto scores = q.matmul(k.transpose(-2, -1)) / std::sqrt(double{kKeyWidth});
            return scores.masked_fill(later, -INFINITY).softmax(-1).matmul(v);  // (1, H, T, width)
          }};
}

}  // namespace

int64_t stride_for(int64_t tokens) {
  constexpr int64_t kStep = 16;
  return kStep * static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(tokens)) / kStep));
}

double dense_attention_bytes(int64_t tokens) {
  constexpr double kMatrices = 4;  // scores, masked, softmax, a gradient
  const auto n = static_cast<double>(tokens);
  return kMatrices * sizeof(float) * kHeads * n * n;
}

CostPart measure_cost(const std::vector<int64_t>& lengths, int64_t rounds) {
  torch::manual_seed(1);
  CostPart part{.threads = torch::get_num_threads(), .rounds = rounds};
  constexpr int64_t kWarmUp = 64;  // tokens: what libraries keep for good is there afterwards
  sparse_case(kWarmUp).measure_memory();
  dense_case(kWarmUp).measure_memory();
  Progress progress("cost", std::ssize(lengths), "lengths");
  for (const auto tokens : lengths) {
    std::vector<BenchmarkCase> cases;
    cases.push_back(sparse_case(tokens));
    if (dense_attention_bytes(tokens) <= kMaxDenseBytes) cases.push_back(dense_case(tokens));
    for (auto& one : cases) one.measure_memory();
    for (int64_t round = 0; round < rounds; ++round)
      for (auto& one : cases) one.measure_time();
    part.sparse.push_back(cases[0].cost());
    if (cases.size() > 1) part.dense.push_back(cases[1].cost());
    progress.update(std::ssize(part.sparse));
  }
  return part;
}

}  // namespace vitrine::sparse
