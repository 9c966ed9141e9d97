#include "vitrine/labs/block/residuals_norms.h"

#include <torch/torch.h>

#include <cmath>

#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/plain_values.h"
#include "vitrine/ops/adam.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine::labs::block {
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

constexpr int64_t kNormWidth = 64, kPopulation = 8192;
constexpr double kNormEps = 1e-5;

/// Tokens (kPopulation, C) whose channels have means and scales of their own.
torch::Tensor token_population(uint64_t seed) {
  torch::manual_seed(seed);
  const auto mean = torch::randn({kNormWidth}), scale = torch::rand({kNormWidth}) * 1.5 + 0.5;
  return torch::randn({kPopulation, kNormWidth}) * scale + mean;
}

/// What BatchNorm gives in training, before its weights: every channel by the mean and the
/// variance of these `tokens` (tokens, C). (torch's layer refuses a single token; this shows why.)
torch::Tensor batch_normed(const torch::Tensor& tokens) {
  return torch::batch_norm(tokens, {}, {}, {}, {}, /*training=*/true, /*momentum=*/0, kNormEps,
                           /*cudnn_enabled=*/false);
}

torch::Tensor layer_normed(const torch::Tensor& tokens) {
  const torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({kNormWidth}).eps(kNormEps));
  return layer_norm(tokens, norm);
}

torch::Tensor random_tokens(const torch::Tensor& population, int64_t count) {
  return population.index_select(0, torch::randint(population.size(0), {count}, torch::kLong));
}

double mean_square(const torch::Tensor& difference) {
  return difference.square().mean().item<double>();
}

NormComparison compare_at(int64_t batch, int64_t draws, const torch::Tensor& population) {
  const auto mean = population.mean(0), deviation = population.std(0, /*unbiased=*/false);
  const auto error = [&](const torch::Tensor& tokens) {
    return mean_square(batch_normed(tokens) - (tokens - mean) / deviation);
  };
  NormComparison sums{.batch = batch};
  for (int64_t draw = 0; draw < draws; ++draw) {
    const auto tokens = random_tokens(population, batch);
    const auto first = tokens.narrow(0, 0, 1);
    const auto others = torch::cat({first, random_tokens(population, batch - 1)});
    sums.batch_error_single += error(tokens);
    sums.batch_error_several += error(random_tokens(population, batch * kSeveralTokens));
    sums.layer_error += mean_square(layer_normed(tokens)[0] - layer_normed(first)[0]);
    sums.batch_change += mean_square(batch_normed(tokens)[0] - batch_normed(others)[0]);
    sums.layer_change += mean_square(layer_normed(tokens)[0] - layer_normed(others)[0]);
  }
  for (double NormComparison::*sum :
       {&NormComparison::batch_error_single, &NormComparison::batch_error_several,
        &NormComparison::layer_error, &NormComparison::batch_change, &NormComparison::layer_change})
    sums.*sum = std::sqrt(sums.*sum / static_cast<double>(draws));
  if (batch == 1) sums.batch_change = sums.layer_change = std::nan("");
  return sums;
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

std::vector<NormComparison> compare_norms(const std::vector<int64_t>& batches, int64_t draws,
                                          uint64_t seed) {
  const torch::NoGradGuard no_grad;
  const auto population = token_population(seed);
  std::vector<NormComparison> rows;
  for (const auto batch : batches) rows.push_back(compare_at(batch, draws, population));
  return rows;
}

SingleTokenNorm normalize_single_token(int64_t channels, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  const auto token = token_population(seed).narrow(0, 0, 1);
  const auto shown = [&](const torch::Tensor& t) {
    return plain_values(t[0].narrow(0, 0, channels));
  };
  return {shown(token), shown(batch_normed(token)), shown(layer_normed(token))};
}

}  // namespace vitrine::labs::block
