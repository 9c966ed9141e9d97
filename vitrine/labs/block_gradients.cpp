#include "vitrine/labs/block_gradients.h"

#include <torch/torch.h>

#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/ops/adam.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine::labs {
namespace {

constexpr int64_t kStackWidth = 64, kStackHeads = 4, kStackTokens = 16, kStackBatch = 8;

/// The block's parts in their order, without the additions.
torch::Tensor without_residuals(EncoderBlockImpl& block, const torch::Tensor& x, bool norms) {
  const auto normed = [&](const torch::Tensor& t, const torch::nn::LayerNorm& norm) {
    return norms ? layer_norm(t, norm) : t;
  };
  const auto mixed = normed(block.attn(x), block.norm1);
  return normed(block.mlp(mixed), block.norm2);
}

torch::Tensor run_in_form(const std::string& form, EncoderBlockImpl& block,
                          const torch::Tensor& x) {
  if (form == "bare") return without_residuals(block, x, /*norms=*/false);
  if (form == "normed") return without_residuals(block, x, /*norms=*/true);
  return block.forward(x);
}

/// The mean cosine between different tokens of an example: `tokens` (B, T, C).
double token_likeness(const torch::Tensor& tokens) {
  const auto T = tokens.size(1);
  const auto units = torch::nn::functional::normalize(
      tokens.detach(), torch::nn::functional::NormalizeFuncOptions().dim(-1));
  const auto cosines = units.matmul(units.transpose(1, 2)).sum({1, 2}) - T;  // (B)
  return cosines.mean().item<double>() / static_cast<double>(T * (T - 1));
}

double gradient_norm(const torch::nn::Module& module) {
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : module.parameters()) gradients.push_back(parameter.grad());
  return joint_norm(gradients);
}

StackGradients stack_gradients(const std::string& form, int64_t depth, uint64_t seed) {
  torch::manual_seed(seed);
  auto blocks = encoder_blocks({.dim = kStackWidth,
                                .heads = kStackHeads,
                                .hidden = 4 * kStackWidth,
                                .norm = form == "pre" ? NormPosition::Pre : NormPosition::Post},
                               depth);
  initialize_transformer(*blocks);
  auto x = torch::randn({kStackBatch, kStackTokens, kStackWidth});
  const auto target = torch::randn_like(x);
  for (size_t i = 0; i < blocks->size(); ++i)
    x = run_in_form(form, blocks->at<EncoderBlockImpl>(i), x);
  // Every form ends at the same scale, so that the losses can be compared.
  const auto output = torch::layer_norm(x, {kStackWidth});
  torch::mse_loss(output, target).backward();
  StackGradients result{.depth = depth, .alike = token_likeness(output)};
  for (size_t i = 0; i < blocks->size(); ++i) {
    const auto& block = blocks->at<EncoderBlockImpl>(i);
    const auto& qkv = block.attn->qkv;
    result.all.push_back(gradient_norm(block));
    result.queries_keys.push_back(
        qkv->weight.grad().narrow(0, 0, 2 * kStackWidth).norm().item<double>());
  }
  return result;
}

}  // namespace

std::vector<GradientSeries> gradients_by_depth(const std::vector<int64_t>& depths, uint64_t seed) {
  std::vector<GradientSeries> all;
  for (const char* form : {"bare", "normed", "post", "pre"}) {
    GradientSeries series{.form = form};
    for (const auto depth : depths) series.stacks.push_back(stack_gradients(form, depth, seed));
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace vitrine::labs
