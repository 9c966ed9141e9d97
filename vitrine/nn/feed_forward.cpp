#include "vitrine/nn/feed_forward.h"

#include "vitrine/core/error.h"
#include "vitrine/ops/activation.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/training/feed_forward.h"

namespace vitrine {

const Choices<Activation>& activation_names() {
  static const Choices<Activation> names = {{"gelu", Activation::Gelu},
                                            {"relu", Activation::Relu},
                                            {"quick_gelu", Activation::QuickGelu},
                                            {"gelu_tanh", Activation::GeluTanh}};
  return names;
}

void FeedForwardConfig::validate() const {
  check(dim > 0 && hidden > 0, "feed_forward: dim {} and hidden {} must be positive", dim, hidden);
}

FeedForwardImpl::FeedForwardImpl(const FeedForwardConfig& c) : config(c) {
  config.validate();
  const auto layer = [&](int64_t in, int64_t out) {
    return Linear(LinearConfig{.in = in, .out = out, .bias = config.bias});
  };
  fc1 = register_module("fc1", layer(config.dim, config.hidden));
  fc2 = register_module("fc2", layer(config.hidden, config.dim));
}

torch::Tensor FeedForwardImpl::hidden_layers(const torch::Tensor& x) {
  const auto p = is_training() ? config.dropout : 0;
  if (const auto precision = fc1->packed() ? std::nullopt : own_products(x, fc1->weight))
    return training_feed_forward(x.to(torch::kFloat),
                                 {fc1->weight, fc1->bias, fc2->weight, fc2->bias},
                                 config.activation, p, *precision);
  const auto hidden = config.activation == Activation::Gelu
                          ? fc1->gelu(x)
                          : activate(fc1(x), config.activation);  // (B, T, hidden)
  return fc2(keyed_dropout(hidden, p, is_training()));
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x) {
  return keyed_dropout(hidden_layers(x), config.dropout, is_training());  // (B, T, C)
}

}  // namespace vitrine
