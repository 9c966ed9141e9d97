// The roofline of one ViT block that learns: what each operation, forward and backward, computes
// and moves, how long that must take by the machine's fastest product and by its memory, and how
// long it takes. Prints a Markdown table for fp32 and one for bf16. usage: roofline [MODEL BATCH],
// by default vit_s16 8; vit_c10_small is known, too.

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/nn/attention.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/feed_forward.h"
#include "vitrine/ops/attention.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/ops/training/linear.h"
#include "vitrine/train/autocast.h"
#include "vitrine/train/throughput.h"

namespace vitrine {
namespace {

/// Bytes per second of reading one array and writing another, both far larger than the caches.
double measure_bandwidth() {
  const auto from = torch::ones({int64_t{1} << 27});  // 512 MB
  auto to = torch::empty_like(from);
  const auto measured = measure_steps([&] { to.copy_(from); }, /*seconds=*/1);
  return 2 * static_cast<double>(from.nbytes()) / (1e-3 * measured.milliseconds);
}

/// FLOP/s of a large layer by our own products, packed before and after.
double own_product_peak(Precision precision) {
  constexpr int64_t n = 1536;
  const torch::NoGradGuard no_grad;
  const auto x = torch::randn({n, n}), w = torch::randn({n, n});
  const auto measured = measure_steps([&] { training_linear(x, w, {}, precision); }, /*seconds=*/1);
  return 2.0 * n * n * n / (1e-3 * measured.milliseconds);
}

struct Block {
  int64_t B, T, C, H, hidden;

  int64_t rows() const { return B * T; }
};

/// One operation of the block.
struct Operation {
  std::string name;
  double multiply_adds;  // forward and backward
  double bytes;          // that must be read and written at least once
  double milliseconds;
};

/// A forward and a backward pass of `forward`.
template <typename Forward>
double time_of(torch::Tensor x, Precision precision, const Forward& forward) {
  x.requires_grad_(true);
  torch::Tensor dy;
  const auto measured = measure_steps(
      [&] {
        torch::Tensor y;
        {
          const Autocast autocast(precision == Precision::BFloat16);
          y = forward(x);
        }
        if (!dy.defined()) dy = torch::randn_like(y);
        y.backward(dy);
        x.mutable_grad().reset();
      },
      /*seconds=*/1);
  return measured.milliseconds;
}

/// Three products of M x K x N numbers, and what they read and write: activations and their
/// gradients in fp32 once each, in whatever precision the products are, and what the backward pass
/// needs of the input.
Operation linear_operation(const Block& b, Precision precision, const std::string& name, int64_t in,
                           int64_t out) {
  Linear layer(in, out);
  const double M = static_cast<double>(b.rows()), K = static_cast<double>(in),
               N = static_cast<double>(out);
  const double kept = precision == Precision::BFloat16 ? 2 : 4;
  return {
      name, 3 * M * K * N, 4 * (2 * M * K + 2 * M * N + 4 * K * N) + 2 * kept * M * K,
      time_of(torch::randn({b.rows(), in}), precision, [&](const auto& x) { return layer(x); })};
}

std::vector<Operation> operations(const Block& b, Precision precision) {
  const double M = static_cast<double>(b.rows()), C = static_cast<double>(b.C),
               T = static_cast<double>(b.T), F = static_cast<double>(b.hidden);
  const double kept = precision == Precision::BFloat16 ? 2 : 4;
  const auto tokens = [&] { return torch::randn({b.B, b.T, b.C}); };
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({b.C}));
  FeedForward mlp(FeedForwardConfig{.dim = b.C, .hidden = b.hidden});
  const auto other = tokens();
  std::vector<Operation> all;
  all.push_back(
      {"LayerNorm (twice)", 0, 2 * 4 * 5 * M * C,
       2 * time_of(tokens(), precision, [&](const auto& x) { return layer_norm(x, norm); })});
  all.push_back(linear_operation(b, precision, "queries, keys, values", b.C, 3 * b.C));
  all.push_back(
      {"attention", 6 * M * T * C,
       4 * (2 * 3 * M * C + 2 * M * C) + 2 * kept * M * T * static_cast<double>(b.H),
       time_of(torch::randn({b.B, b.T, 3, b.H, b.C / b.H}), precision,
               [&](const auto& qkv) { return packed_attention(qkv, /*dropout=*/0, precision); })});
  all.push_back(linear_operation(b, precision, "projection", b.C, b.C));
  all.push_back({"residual sums (two)", 0, 2 * 4 * 6 * M * C,
                 2 * time_of(tokens(), precision, [&](const auto& x) { return x + other; })});
  all.push_back({"feed-forward", 6 * M * C * F,
                 4 * (4 * M * C + 8 * C * F) + 2 * kept * (M * C + 2 * M * F),
                 time_of(tokens(), precision, [&](const auto& x) { return mlp(x); })});
  return all;
}

/// The same as one operation. It keeps the residual stream between its halves in fp32, and queries,
/// keys, values, what attention gave, its weights and what the activation got in `precision`.
Operation whole_block(const Block& b, Precision precision) {
  const double M = static_cast<double>(b.rows()), C = static_cast<double>(b.C),
               T = static_cast<double>(b.T), F = static_cast<double>(b.hidden),
               H = static_cast<double>(b.H);
  const double kept = precision == Precision::BFloat16 ? 2 : 4;
  EncoderBlock block(EncoderBlockConfig{.dim = b.C, .heads = b.H, .hidden = b.hidden});
  return {
      "the block as one operation", 3 * M * C * (4 * C + 2 * F) + 6 * M * T * C,
      4 * (4 * M * C + 2 * M * C + 4 * C * (4 * C + 2 * F)) +
          2 * kept * (4 * M * C + M * T * H + M * F),
      time_of(torch::randn({b.B, b.T, b.C}), precision, [&](const auto& x) { return block(x); })};
}

void print_table(const Block& b, Precision precision, double peak, double bandwidth) {
  fmt::print(
      "\n{}: products {:.0f} GFLOP/s, memory {:.1f} GB/s; {} rows of {}, {} heads, hidden {}\n\n",
      precision == Precision::BFloat16 ? "bf16" : "fp32", 1e-9 * peak, 1e-9 * bandwidth, b.rows(),
      b.C, b.H, b.hidden);
  fmt::print(
      "| operation | GFLOP | MB | FLOP per byte | ms by products | ms by memory | bound by | "
      "measured, ms | of the bound |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|\n");
  double total = 0, least = 0;
  const auto print = [&](const Operation& op) {
    const double flop = 2 * op.multiply_adds, by_products = 1e3 * flop / peak,
                 by_memory = 1e3 * op.bytes / bandwidth;
    const double bound = std::max(by_products, by_memory);
    fmt::print("| {} | {:.2f} | {:.1f} | {:.0f} | {:.2f} | {:.2f} | {} | {:.2f} | {:.0f} % |\n",
               op.name, 1e-9 * flop, 1e-6 * op.bytes, flop / op.bytes, by_products, by_memory,
               by_products > by_memory ? "products" : "memory", op.milliseconds,
               100 * bound / op.milliseconds);
    return bound;
  };
  for (const auto& op : operations(b, precision)) {
    least += print(op);
    total += op.milliseconds;
  }
  fmt::print("| together | | | | | | | {:.1f} | {:.0f} % |\n", total, 100 * least / total);
  print(whole_block(b, precision));
}

void run(const std::string& model, int64_t batch) {
  const Block block =
      model == "vit_c10_small" ? Block{batch, 65, 192, 3, 768} : Block{batch, 197, 384, 6, 1536};
  check(model == "vit_c10_small" || model == "vit_s16",
        "roofline: '{}' is neither vit_s16 nor vit_c10_small", model);
  const double bandwidth = measure_bandwidth();
  print_table(block, Precision::Float32, own_product_peak(Precision::Float32), bandwidth);
  print_table(block, Precision::BFloat16, own_product_peak(Precision::BFloat16), bandwidth);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  try {
    vitrine::set_up_runtime(/*threads=*/0);
    vitrine::run(argc > 1 ? argv[1] : "vit_s16", argc > 2 ? std::atoll(argv[2]) : 8);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}
