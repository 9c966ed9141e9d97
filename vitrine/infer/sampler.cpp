#include "vitrine/infer/sampler.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"

namespace vitrine {
namespace {

constexpr uint64_t kDrawKey = 0x64726177;  // apart from the keys of examples and epochs

/// One of the tokens, each with the probability softmax(logits / temperature).
int64_t sample_token(std::vector<double> logits, const SampleOptions& o, double uniform) {
  if (o.top_k > 0 && o.top_k < std::ssize(logits)) {
    std::vector<int64_t> tokens(logits.size());
    std::iota(tokens.begin(), tokens.end(), 0);
    const auto likelier = [&](int64_t a, int64_t b) { return logits[a] > logits[b]; };
    std::nth_element(tokens.begin(), tokens.begin() + o.top_k, tokens.end(), likelier);
    for (auto token = tokens.begin() + o.top_k; token != tokens.end(); ++token)
      logits[*token] = -std::numeric_limits<double>::infinity();
  }
  const double top = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (auto& logit : logits) total += logit = std::exp((logit - top) / o.temperature);
  check(std::isfinite(total), "sample: the model's logits are not finite; its weights are spoilt");
  double left = uniform * total;
  int64_t token = 0;
  while (token + 1 < std::ssize(logits) && left >= logits[token]) left -= logits[token++];
  while (logits[token] == 0) --token;  // rounding may have gone past the last possible one
  return token;
}

}  // namespace

void SampleOptions::validate() const {
  check(count > 0, "sample: {} sequences; ask for at least one", count);
  check(temperature > 0 && std::isfinite(temperature),
        "sample: temperature {} is not a positive number", temperature);
  check(top_k >= 0, "sample: top-k {} is negative", top_k);
  check(!prefix.defined() || (prefix.dim() == 2 && prefix.size(0) == count),
        "sample: the prefixes are not one per sequence");
}

torch::Tensor sample_next_token(const torch::Tensor& logits, const SampleOptions& options,
                                int64_t position) {
  const auto rows = logits.to(torch::kDouble).cpu().contiguous();
  auto tokens = torch::empty({rows.size(0)}, torch::kLong);
  for (int64_t row = 0; row < rows.size(0); ++row) {
    const auto* first = rows.data_ptr<double>() + row * rows.size(1);
    Random random{options.seed, kDrawKey, static_cast<uint64_t>(row),
                  static_cast<uint64_t>(position)};
    tokens.data_ptr<int64_t>()[row] =
        sample_token({first, first + rows.size(1)}, options, random.uniform());
  }
  return tokens;
}

}  // namespace vitrine
