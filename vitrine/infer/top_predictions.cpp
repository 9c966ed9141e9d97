#include "vitrine/infer/top_predictions.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"

namespace vitrine {

std::vector<std::vector<Prediction>> top_predictions(const torch::Tensor& logits,
                                                     const std::vector<std::string>& classes,
                                                     int64_t k) {
  check(k >= 1, "predict: {} predictions were asked for; ask for at least 1", k);
  check(logits.size(1) == static_cast<int64_t>(classes.size()),
        "predict: the model has {} classes, its checkpoint names {}", logits.size(1),
        classes.size());
  check(torch::isfinite(logits).all().item<bool>(),
        "predict: the network's logits are not finite; its weights, or the mean and std of its "
        "preprocessing, are damaged");
  const auto B = logits.size(0), K = std::min(k, logits.size(1));
  const auto [probabilities, indices] =
      logits.softmax(1).to(torch::kCPU, torch::kDouble).topk(K, 1);
  std::vector<std::vector<Prediction>> result(B);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t i = 0; i < K; ++i) {
      const auto index = indices[b][i].item<int64_t>();
      result[b].push_back({classes[index], index, probabilities[b][i].item<double>()});
    }
  return result;
}

}  // namespace vitrine
