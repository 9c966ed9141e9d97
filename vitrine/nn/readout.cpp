#include "vitrine/nn/readout.h"

#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/feature_capture.h"

namespace vitrine {

torch::Tensor read_token(const torch::Tensor& tokens, int64_t index) {
  if (auto* capture = AttentionCapture::current()) {
    auto weights = torch::zeros({tokens.size(0), tokens.size(1)}, tokens.options());
    weights.select(1, index).fill_(1);
    capture->record_readout(Readout::Token, weights);
  }
  return tokens.select(1, index);
}

torch::Tensor read_first_tokens(const torch::Tensor& tokens, int64_t count) {
  if (auto* capture = AttentionCapture::current()) {
    auto weights = torch::zeros({tokens.size(0), tokens.size(1)}, tokens.options());
    weights.narrow(1, 0, count).fill_(1.0 / static_cast<double>(count));
    capture->record_readout(Readout::Token, weights);
  }
  return tokens.narrow(1, 0, count).flatten(1);
}

torch::Tensor read_mean(const torch::Tensor& tokens) {
  FeatureCapture::note(tokens);
  if (auto* capture = AttentionCapture::current()) {
    const auto B = tokens.size(0), T = tokens.size(1);
    auto weights = torch::full({B, T}, 1.0 / static_cast<double>(T), tokens.options());
    capture->record_readout(Readout::Mean, weights);
    if (capture->in_graph()) {
      weights.requires_grad_(true);
      return weights.unsqueeze(1).matmul(tokens).squeeze(1);
    }
  }
  return tokens.mean(1);
}

torch::Tensor read_weighted(const torch::Tensor& tokens, const torch::Tensor& weights) {
  FeatureCapture::note(tokens);
  const auto per_token = weights.squeeze(1);  // (B, T)
  if (auto* capture = AttentionCapture::current())
    capture->record_readout(Readout::Weighted, per_token);
  return per_token.unsqueeze(1).matmul(tokens).squeeze(1);
}

torch::Tensor read_map(const torch::Tensor& map) {
  FeatureCapture::note(map);
  return map.mean({2, 3});
}

}  // namespace vitrine
