#include "vitrine/nn/recompute.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "vitrine/nn/encoder_block.h"

namespace vitrine {

TEST(Recompute, GivesTheSameOutputAndGradientsWithDropout) {
  // Of the second size, products go through kernels of our own.
  for (const auto& [tokens, dim] : {std::pair<int64_t, int64_t>{5, 8}, {130, 64}}) {
    torch::manual_seed(1);
    auto blocks = encoder_blocks(
        {.dim = dim, .heads = 2, .hidden = 2 * dim, .dropout = 0.3, .attention_dropout = 0.2}, 3);
    const auto run = [&, tokens = tokens, dim = dim](bool recompute) {
      blocks->zero_grad();
      torch::manual_seed(7);
      const auto x = torch::randn({2, tokens, dim}).requires_grad_(true);
      const auto y = blocks->forward(x, recompute);
      const auto after = torch::randn({1});  // the generator must stand where it stood
      y.square().sum().backward();
      std::vector<torch::Tensor> result = {y.detach(), after, x.grad()};
      for (const auto& p : blocks->parameters()) result.push_back(p.grad().clone());
      return result;
    };
    const auto plain = run(false), again = run(true);
    ASSERT_EQ(plain.size(), again.size());
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(plain[i].equal(again[i])) << dim << i;
  }
}

TEST(Recompute, GivesTheSameGradientsInBfloat16) {
  torch::manual_seed(1);
  auto blocks = encoder_blocks({.dim = 8, .heads = 2, .hidden = 16, .dropout = 0.3}, 2);
  const auto run = [&](bool recompute, bool autocast) {
    blocks->zero_grad();
    torch::manual_seed(7);
    const auto x = torch::randn({2, 5, 8}).requires_grad_(true);
    at::autocast::set_cpu_enabled(autocast);
    const auto y = blocks->forward(x, recompute);
    at::autocast::set_cpu_enabled(false);
    at::autocast::clear_cache();
    y.to(torch::kFloat).square().sum().backward();  // outside of autocast, as trainers do
    EXPECT_FALSE(at::autocast::is_cpu_enabled());
    std::vector<torch::Tensor> result = {y.detach(), x.grad()};
    for (const auto& p : blocks->parameters()) result.push_back(p.grad().clone());
    return result;
  };
  const auto plain = run(false, true), again = run(true, true), in_fp32 = run(true, false);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(plain[i].equal(again[i])) << i;
  EXPECT_FALSE(plain[1].equal(in_fp32[1]));
}

TEST(Recompute, LeavesTheGeneratorAsItWasAfterBackward) {
  torch::manual_seed(1);
  const auto x = torch::randn({3}).requires_grad_(true);
  const auto f = [](const torch::Tensor& in) { return in * torch::rand({3}); };
  const auto y = recomputed(f, x);
  torch::manual_seed(5);
  const auto expected = torch::rand({1});
  torch::manual_seed(5);
  y.sum().backward();
  EXPECT_TRUE(torch::rand({1}).equal(expected));
}

}  // namespace vitrine
