#include "vitrine/nn/feed_forward.h"

#include "vitrine/core/error.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {

const Choices<Activation>& activation_names() {
  static const Choices<Activation> names = {{"gelu", Activation::Gelu}, {"relu", Activation::Relu}};
  return names;
}

torch::Tensor activate(const torch::Tensor& x, Activation activation) {
  return activation == Activation::Gelu ? torch::gelu(x) : torch::relu(x);
}

void FeedForwardConfig::validate() const {
  check(dim > 0 && hidden > 0, "feed_forward: dim {} and hidden {} must be positive", dim, hidden);
}

FeedForwardImpl::FeedForwardImpl(const FeedForwardConfig& c) : config(c) {
  config.validate();
  fc1 = register_module("fc1", torch::nn::Linear(config.dim, config.hidden));
  fc2 = register_module("fc2", torch::nn::Linear(config.hidden, config.dim));
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x) {
  const auto hidden = activate(fc1(x), config.activation);  // (B, T, hidden)
  const auto out = fc2(keyed_dropout(hidden, config.dropout, is_training()));
  return keyed_dropout(out, config.dropout, is_training());  // (B, T, C)
}

}  // namespace vitrine
