#include "vitrine/ops/packed_linear.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/instruction_sets.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/ops/activation.h"

namespace vitrine {
namespace {

constexpr auto kPrecisions = {Precision::Float32, Precision::BFloat16, Precision::Int8};

class PackedProducts : public test::EveryInstructionSet {};

struct Shape {
  int64_t M, N, K;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const int64_t M : {1, 2, 5, 7, 50})
    for (const int64_t N : {1, 3, 16, 17, 65, 130})
      for (const int64_t K : {1, 3, 4, 31, 64, 147}) all.push_back({M, N, K});
  all.push_back({197, 192, 384});
  all.push_back({7, 70, 9001});  // longer than the kernels sum at a time
  return all;
}

struct Case {
  explicit Case(const Shape& s)
      : x(torch::randn({s.M, s.K}) + 0.5),
        weight(torch::randn({s.N, s.K})),
        bias(torch::randn({s.N})) {}

  torch::Tensor x, weight, bias;
};

std::string text_of(const Shape& s) { return fmt::format("{} x {} x {}", s.M, s.N, s.K); }

bool close(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& bound) {
  return ((a.to(torch::kDouble) - b.to(torch::kDouble)).abs() <= bound).all().item<bool>();
}

/// x W^T without rounding.
torch::Tensor exact(const torch::Tensor& x, const torch::Tensor& weight) {
  return x.to(torch::kDouble).matmul(weight.to(torch::kDouble).t());
}

}  // namespace

TEST_P(PackedProducts, GivesInt8ProductsAsTheReferenceDefinesThem) {
  const auto limit = kernels::packed_layout().int8_limit;
  for (const auto& shape : shapes()) {
    const Case c(shape);
    const auto packed = pack_weight(c.weight, Precision::Int8);
    for (const auto& bias : {c.bias, torch::Tensor()}) {
      const auto expected = int8_linear_reference(c.x, c.weight, bias, limit);
      EXPECT_TRUE(torch::allclose(packed->product(c.x, bias), expected, 1e-5, 1e-5))
          << text_of(shape);
    }
  }
}

TEST_P(PackedProducts, RoundsInt8ProductsByHalfAStepOfEachFactor) {
  const auto limit = kernels::packed_layout().int8_limit;
  for (const auto& shape : shapes()) {
    const Case c(shape);
    const auto packed = pack_weight(c.weight, Precision::Int8);
    const auto weight_step = c.weight.abs().amax(1) / limit;                            // (N)
    const auto row_step = (c.x.amax(1).clamp_min(0) - c.x.amin(1).clamp_max(0)) / 255;  // (M)
    const auto of_weights = c.x.abs().sum(1, /*keepdim=*/true) * weight_step / 2;       // (M, N)
    const auto of_inputs = row_step.unsqueeze(1) * packed->values().abs().sum(1) / 2;
    EXPECT_TRUE(close(packed->product(c.x, {}), exact(c.x, c.weight),
                      (of_weights + of_inputs) * (1 + 1e-4) + 1e-5))
        << text_of(shape);
    EXPECT_TRUE(close(packed->values(), c.weight, weight_step.unsqueeze(1) / 2 + 1e-6))
        << text_of(shape);
  }
}

TEST_P(PackedProducts, GivesBf16ProductsAsTheReferenceDefinesThem) {
  for (const auto& shape : shapes()) {
    const Case c(shape);
    const auto packed = pack_weight(c.weight, Precision::BFloat16);
    EXPECT_TRUE(packed->values().equal(c.weight.to(torch::kBFloat16).to(torch::kFloat)));
    for (const auto& bias : {c.bias, torch::Tensor()}) {
      // Each of K sums rounds in fp32.
      const auto sizes = exact(c.x.abs(), c.weight.abs()) + c.bias.abs();
      const auto bound = sizes * (static_cast<double>(shape.K + 2) / (1 << 23));
      EXPECT_TRUE(
          close(packed->product(c.x, bias), bf16_linear_reference(c.x, c.weight, bias), bound))
          << text_of(shape);
    }
  }
}

TEST_P(PackedProducts, GivesFp32ProductsButForTheOrderOfTheirSums) {
  for (const auto& shape : shapes()) {
    const Case c(shape);
    const auto packed = pack_weight(c.weight, Precision::Float32);
    EXPECT_TRUE(packed->values().equal(c.weight));
    for (const auto& bias : {c.bias, torch::Tensor()}) {
      const auto expected = exact(c.x, c.weight) + (bias.defined() ? bias : torch::zeros({1}));
      const auto sizes = exact(c.x.abs(), c.weight.abs()) + c.bias.abs();
      const auto bound = sizes * (static_cast<double>(shape.K + 2) / (1 << 24));
      EXPECT_TRUE(close(packed->product(c.x, bias), expected, bound)) << text_of(shape);
    }
  }
}

TEST_P(PackedProducts, AppliesTheGelu) {
  for (const auto precision : kPrecisions) {
    const auto packed = pack_weight(torch::eye(70), precision);
    const auto x = torch::linspace(-12, 12, 50 * 70).view({50, 70});
    const auto y = packed->product(x, {}), activated = packed->gelu_product(x, {});
    EXPECT_TRUE(close(activated, torch::gelu(y.to(torch::kDouble)), y.abs() * 3e-7));
  }
}

TEST_P(PackedProducts, DoesNotSaturateWhereAllNumbersAreTheLargest) {
  constexpr int64_t K = 1000;
  for (const double sign : {1.0, -1.0}) {
    const auto packed = pack_weight(torch::full({17, K}, sign), Precision::Int8);
    const auto y = packed->product(torch::ones({7, K}), {});
    EXPECT_TRUE(torch::allclose(y, torch::full({7, 17}, sign * K), 1e-5)) << y[0][0];
  }
}

TEST_P(PackedProducts, GivesTheBiasAloneForZeros) {
  const Case c({5, 17, 9});
  for (const auto precision : kPrecisions) {
    const auto expected = c.bias.expand({5, 17});
    EXPECT_TRUE(
        pack_weight(c.weight, precision)->product(torch::zeros({5, 9}), c.bias).equal(expected));
    EXPECT_TRUE(
        pack_weight(torch::zeros({17, 9}), precision)->product(c.x, c.bias).equal(expected));
  }
}

TEST_P(PackedProducts, KeepsWhatIsNotFiniteInItsRow) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double broken : {std::nan(""), kInfinity, -kInfinity})
    for (const int64_t place : {0, 20, 36}) {
      const Case c({4, 18, 37});
      auto x = c.x.clone();
      x[2][place] = broken;
      for (const auto precision : kPrecisions) {
        const auto packed = pack_weight(c.weight, precision);
        const auto y = packed->product(x, c.bias), whole = packed->product(c.x, c.bias);
        EXPECT_FALSE(y[2].isfinite().any().item<bool>());
        for (const int64_t row : {0, 1, 3}) EXPECT_TRUE(y[row].equal(whole[row]));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Vectors, PackedProducts, test::instruction_sets());

TEST(PackedLinear, GivesARowTheSameNumbersInAnyBatchOnAnyThreads) {
  torch::manual_seed(1);
  const Case c({301, 200, 128});
  const auto threads = at::get_num_threads();
  for (const auto precision : kPrecisions) {
    const auto packed = pack_weight(c.weight, precision);
    at::set_num_threads(2);
    const auto y = packed->product(c.x.view({7, 43, 128}), c.bias).view({301, 200});
    at::set_num_threads(1);
    EXPECT_TRUE(y.equal(packed->product(c.x, c.bias)));
    for (const int64_t row : {0, 100, 300})
      EXPECT_TRUE(y[row].equal(packed->product(c.x[row], c.bias)));
  }
  at::set_num_threads(threads);
}

TEST(PackedLinear, HasTheGradientOfTheWeightThatItMultipliesWith) {
  torch::manual_seed(1);
  const Case c({6, 20, 33});
  for (const auto precision : kPrecisions)
    for (const auto& bias : {c.bias, torch::Tensor()}) {
      const auto packed = pack_weight(c.weight, precision);
      const auto x = c.x.clone().requires_grad_(true);
      const auto weight = torch::randn({6, 20});
      const auto y = packed_linear(x, *packed, bias);
      EXPECT_TRUE(y.equal(packed->product(c.x, bias)));
      const auto gradient = torch::autograd::grad({(y * weight).sum()}, {x})[0];
      EXPECT_TRUE(torch::allclose(gradient, weight.matmul(packed->values())));
      EXPECT_FALSE(packed_linear(c.x, *packed, bias).requires_grad());
      const auto activated = packed_linear_gelu(x, *packed, bias);
      EXPECT_TRUE(activated.equal(activate(y, Activation::Gelu)));
      EXPECT_TRUE(torch::allclose(activated, torch::gelu(y), 1e-5, 1e-6));
      EXPECT_TRUE(torch::allclose(
          torch::autograd::grad({activated.sum()}, {x})[0],
          torch::autograd::grad({torch::gelu(packed_linear(x, *packed, bias)).sum()}, {x})[0], 1e-5,
          1e-5));
    }
}

TEST(PackedLinear, TakesAQuarterHalfOrAllOfTheMemory) {
  const auto weight = torch::randn({256, 256});
  const auto bytes = static_cast<int64_t>(weight.nbytes());
  EXPECT_EQ(4 * pack_weight(weight, Precision::Int8)->bytes(), bytes);
  EXPECT_EQ(2 * pack_weight(weight, Precision::BFloat16)->bytes(), bytes);
  EXPECT_EQ(pack_weight(weight, Precision::Float32)->bytes(), bytes);
}

TEST(PackedLinear, RefusesWhatItCannotMultiply) {
  const auto weight = torch::randn({3, 4});
  const auto packed = pack_weight(weight, Precision::Int8);
  const auto refusal = [](auto&& f, const std::string& words) {
    EXPECT_TRUE(test::contains(test::error_of(f), words));
  };
  refusal(
      [&] {
        packed->product(torch::randn({2, 5}), {});
      },
      "linear: rows of 5 (Float) do not fit packed weights for rows of 4");
  refusal(
      [&] {
        packed->product(torch::randn({2, 4}, torch::kDouble), {});
      },
      "rows of 4 (Double) do not fit");
  refusal([&] { pack_weight(weight.to(torch::kDouble), Precision::Int8); },
          "linear: a weight of 3x4 (Double) on cpu cannot be packed");
  refusal(
      [&] {
        pack_weight(torch::full({3, 4}, std::nan("")), Precision::Int8);
      },
      "linear: a weight of 3x4 has numbers that are not finite, which int8 cannot hold");
  refusal(
      [&] {
        pack_weight(torch::zeros({1, 65537}), Precision::Int8);
      },
      "int8: rows of 65537 weights are too long; the longest are of 65536");
}

}  // namespace vitrine
