#include "vitrine/models/no_random_init.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "vitrine/models/registry.h"

namespace vitrine {

TEST(NoRandomInit, DrawsNothingWhileItLives) {
  torch::manual_seed(1);
  const auto expected = torch::rand({4});
  torch::manual_seed(1);
  auto x = torch::full({3, 5}, 7.0);
  {
    const NoRandomInit no_random_init;
    torch::nn::init::xavier_uniform_(x);
    torch::nn::init::normal_(x);
  }
  EXPECT_TRUE(x.equal(torch::full({3, 5}, 7.0)));
  EXPECT_TRUE(torch::rand({4}).equal(expected));
}

TEST(NoRandomInit, LeavesTheRestAsItIs) {
  const NoRandomInit no_random_init;
  auto x = torch::nn::init::zeros_(torch::ones({3}));
  EXPECT_EQ(x.sum().item<float>(), 0);
  const auto model = read_model("name: vit_c10_small", {}, "test").build();
  EXPECT_EQ(model->named_parameters()["head.bias"].abs().sum().item<float>(), 0);
}

TEST(NoRandomInit, EndsWithItself) {
  { const NoRandomInit no_random_init; }
  EXPECT_GT(torch::nn::init::uniform_(torch::zeros({100})).abs().sum().item<float>(), 0);
}

}  // namespace vitrine
