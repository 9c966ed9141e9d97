#include "vitrine/ops/packed_block.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/activation.h"
#include "vitrine/kernels/layer_norm.h"
#include "vitrine/kernels/rows.h"
#include "vitrine/ops/training/chunk_attention.h"

namespace vitrine {
namespace {

/// A chunk of sequences on its way through the block, in memory of one thread.
class ChunkPass {
 public:
  ChunkPass(const BlockLayout& layout, const PackedBlock& block)
      : l_(layout),
        b_(block),
        attention_(layout),
        tokens_(l_.rows() * l_.C),
        branch_(l_.rows() * l_.C),
        qkv_(l_.rows() * 3 * l_.C),
        hidden_(l_.rows() * l_.F),
        moments_(2 * l_.rows()) {}

  /// x and y: all rows.
  void run(int64_t chunk, const float* all_x, float* all_y) {
    const auto first = l_.first_row(chunk) * l_.C, R = l_.rows_of(chunk), numbers = R * l_.C;
    const float* x = all_x + first;
    float* y = all_y + first;
    norm(x, R, b_.gamma1, b_.beta1);
    b_.qkv->rows(tokens_.data(), R, values_or_null(b_.qkv_bias), /*gelu=*/false, qkv_.data());
    attention_.forward(chunk, /*dropout=*/{}, qkv_.data(), /*kept=*/nullptr, tokens_.data());
    b_.proj->rows(tokens_.data(), R, values_or_null(b_.proj_bias), /*gelu=*/false, branch_.data());
    kernels::add_row(x, branch_.data(), numbers, y);
    norm(y, R, b_.gamma2, b_.beta2);
    const bool gelu = b_.activation == Activation::Gelu;
    b_.fc1->rows(tokens_.data(), R, values_or_null(b_.bias1), gelu, hidden_.data());
    if (!gelu) kernels::activate(b_.activation, hidden_.data(), R * l_.F, hidden_.data());
    b_.fc2->rows(hidden_.data(), R, values_or_null(b_.bias2), /*gelu=*/false, branch_.data());
    kernels::add_row(b_.norm_stream ? tokens_.data() : y, branch_.data(), numbers, y);
  }

 private:
  void norm(const float* x, int64_t R, const torch::Tensor& gamma, const torch::Tensor& beta) {
    kernels::layer_norm(
        {x, gamma.data_ptr<float>(), R, l_.C, moments_.data(), moments_.data() + l_.rows()},
        beta.data_ptr<float>(), static_cast<float>(b_.norm_eps), tokens_.data());
  }

  const BlockLayout& l_;
  const PackedBlock& b_;
  ChunkAttention attention_;
  std::vector<float> tokens_, branch_, qkv_, hidden_, moments_;
};

}  // namespace

bool shares_sequences(int64_t B, int64_t T) {
  constexpr int64_t kManyChunks = 8;  // of each thread: one more or less does not matter
  const BlockLayout layout{.B = B, .T = T};
  const int64_t threads = at::get_num_threads(), chunks = layout.chunks();
  return chunks % threads == 0 || chunks >= kManyChunks * threads;
}

torch::Tensor packed_block(const torch::Tensor& input, const PackedBlock& b) {
  check(input.dim() == 3 && input.numel() > 0 && input.scalar_type() == torch::kFloat &&
            input.device().is_cpu() && input.size(2) % b.heads == 0,
        "packed_block: {} ({}) is no (B, T, C) tensor in fp32 on the CPU, or {} heads do not "
        "divide C",
        fmt::join(input.sizes(), "x"), torch::toString(input.scalar_type()), b.heads);
  RECORD_FUNCTION("vitrine::packed_block", std::vector<c10::IValue>({input}));
  const auto x = input.contiguous();
  const BlockLayout layout{x.size(0), x.size(1), x.size(2), b.heads, b.hidden, b.qkv->precision()};
  auto y = torch::empty_like(x);
  const auto* in = x.data_ptr<float>();
  auto* out = y.data_ptr<float>();
  at::parallel_for(0, layout.chunks(), 1, [&](int64_t begin, int64_t end) {
    ChunkPass pass(layout, b);
    for (int64_t chunk = begin; chunk < end; ++chunk) pass.run(chunk, in, out);
  });
  return y;
}

}  // namespace vitrine
