#include "vitrine/labs/block_numbers.h"

#include <torch/torch.h>

#include <utility>

#include "vitrine/labs/block_heads.h"
#include "vitrine/labs/plain_values.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/nn/positional_encoding.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine::labs {
namespace {

constexpr int64_t kBlockWidth = 64, kBlockHeads = 4, kBlockHidden = 4 * kBlockWidth;

/// `tokens` (1, T, C).
BlockStep describe_step(const std::string& name, const torch::Tensor& tokens) {
  const auto variance = tokens.var(-1, /*unbiased=*/false);  // (1, T)
  return {.name = name,
          .mean = tokens.mean().item<double>(),
          .variance = variance.mean().item<double>(),
          .least_variance = variance.min().item<double>(),
          .greatest_variance = variance.max().item<double>(),
          .values = plain_values(tokens)};
}

}  // namespace

BlockTrace trace_block(int64_t words, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(seed);
  EncoderBlock block(EncoderBlockConfig{.dim = kBlockWidth,
                                        .heads = kBlockHeads,
                                        .hidden = kBlockHidden,
                                        .norm = NormPosition::Post});
  initialize_transformer(*block);
  const auto embedded = torch::randn({1, words, kBlockWidth});
  const auto x = embedded + sinusoidal_encoding(words, kBlockWidth);  // (1, T, C)
  const auto attended = block->attn(x);
  const auto added = x + attended;
  const auto normed = layer_norm(added, block->norm1);
  const auto fed = block->mlp(normed);
  const auto added_again = normed + fed;
  const auto out = layer_norm(added_again, block->norm2);
  AttentionCapture capture;
  const auto whole = block(x);
  return {.tokens = words,
          .width = kBlockWidth,
          .hidden = kBlockHidden,
          .steps = {describe_step("input", x), describe_step("attention", attended),
                    describe_step("add1", added), describe_step("norm1", normed),
                    describe_step("feed_forward", fed), describe_step("add2", added_again),
                    describe_step("norm2", out)},
          .parts = {{"attention", "4 d² + 4 d", parameter_count(*block->attn)},
                    {"norm1", "2 d", parameter_count(*block->norm1)},
                    {"feed_forward", "8 d² + 5 d", parameter_count(*block->mlp)},
                    {"norm2", "2 d", parameter_count(*block->norm2)}},
          .heads = head_maps(capture.layers.front().weights),
          .difference = greatest_difference(out, whole)};
}

std::vector<ActivationCurve> activation_curves() {
  std::vector<ActivationCurve> curves;
  for (const auto& [name, activation] :
       {std::pair("gelu", Activation::Gelu), std::pair("relu", Activation::Relu)}) {
    const auto x = torch::linspace(-4, 4, 401, torch::kDouble).requires_grad_();
    const auto y = activate(x, activation);
    y.sum().backward();
    const auto lowest = y.argmin().item<int64_t>();
    curves.push_back({.name = name,
                      .x = plain_values(x),
                      .y = plain_values(y),
                      .slope = plain_values(x.grad()),
                      .lowest = y[lowest].item<double>(),
                      .lowest_at = x[lowest].item<double>()});
  }
  return curves;
}

}  // namespace vitrine::labs
