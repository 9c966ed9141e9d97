#include "vitrine/ops/packed_block.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "vitrine/core/error.h"
#include "vitrine/kernels/activation.h"
#include "vitrine/kernels/layer_norm.h"
#include "vitrine/kernels/rows.h"
#include "vitrine/ops/attention_heads.h"
#include "vitrine/ops/task_queue.h"
#include "vitrine/ops/training/chunk_attention.h"

namespace vitrine {
namespace {

using Buffer = std::unique_ptr<float[]>;

Buffer buffer(int64_t size) { return std::make_unique_for_overwrite<float[]>(size); }

/// Some rows on their way through the block, in memory of one thread for at most `most` of them.
class RowsPass {
 public:
  RowsPass(const BlockLayout& layout, const PackedBlock& block, int64_t most)
      : l_(layout),
        b_(block),
        most_(most),
        tokens_(buffer(most * l_.C)),
        branch_(buffer(most * l_.C)),
        hidden_(buffer(most * l_.F)),
        moments_(buffer(2 * most)) {}

  /// Queries, keys and values (R, 3 C) of rows (R, C).
  void project(const float* x, int64_t R, float* qkv) {
    norm(x, R, b_.gamma1, b_.beta1);
    b_.qkv->rows(tokens_.get(), R, values_or_null(b_.qkv_bias), /*gelu=*/false, qkv);
  }

  /// Where attention's result (R, C) goes before `finish`.
  float* attended() { return tokens_.get(); }

  /// The block's output (R, C) of its input and `attended()`.
  void finish(const float* x, int64_t R, float* y) {
    const auto numbers = R * l_.C;
    b_.proj->rows(tokens_.get(), R, values_or_null(b_.proj_bias), /*gelu=*/false, branch_.get());
    kernels::add_row(x, branch_.get(), numbers, y);
    norm(y, R, b_.gamma2, b_.beta2);
    const bool gelu = b_.activation == Activation::Gelu;
    b_.fc1->rows(tokens_.get(), R, values_or_null(b_.bias1), gelu, hidden_.get());
    if (!gelu) kernels::activate(b_.activation, hidden_.get(), R * l_.F, hidden_.get());
    b_.fc2->rows(hidden_.get(), R, values_or_null(b_.bias2), /*gelu=*/false, branch_.get());
    kernels::add_row(b_.norm_stream ? tokens_.get() : y, branch_.get(), numbers, y);
  }

 private:
  void norm(const float* x, int64_t R, const torch::Tensor& gamma, const torch::Tensor& beta) {
    kernels::layer_norm(
        {x, gamma.data_ptr<float>(), R, l_.C, moments_.get(), moments_.get() + most_},
        beta.data_ptr<float>(), static_cast<float>(b_.norm_eps), tokens_.get());
  }

  const BlockLayout& l_;
  const PackedBlock& b_;
  int64_t most_;
  Buffer tokens_, branch_, hidden_, moments_;
};

/// A thread takes whole sequences.
void by_sequences(const BlockLayout& l, const PackedBlock& b, const float* x, float* y) {
  TaskQueue(l.chunks()).run([&](const auto& for_tasks) {
    RowsPass pass(l, b, l.rows());
    ChunkAttention attention(l);
    const bool rounds = attention.precision() == Precision::BFloat16;
    const auto numbers = buffer(rounds ? l.rows() * 3 * l.C : 0);
    for_tasks([&](int64_t chunk) {
      const auto first = l.first_row(chunk) * l.C, R = l.rows_of(chunk);
      auto* words = attention.qkv(chunk, /*kept=*/nullptr);
      auto* qkv = rounds ? numbers.get() : reinterpret_cast<float*>(words);
      pass.project(x + first, R, qkv);
      if (rounds) to_words(qkv, R, 3 * l.C, Precision::BFloat16, words);
      attention.forward(chunk, /*dropout=*/{}, /*kept=*/nullptr, pass.attended());
      pass.finish(x + first, R, y + first);
    });
  });
}

/// Each sequence is cut into equal parts, as many for each thread.
struct Parts {
  explicit Parts(const BlockLayout& l) : T(l.T) {
    constexpr int64_t kRows = 192;  // so few that what a part computes stays in a cache
    const int64_t threads = at::get_num_threads();
    per_sequence = threads * ((T + kRows * threads - 1) / (kRows * threads));
    rows = (T + per_sequence - 1) / per_sequence;
    per_sequence = (T + rows - 1) / rows;
  }
  int64_t first_of(int64_t part) const { return part % per_sequence * rows; }  // token
  int64_t rows_of(int64_t part) const { return std::min(rows, T - first_of(part)); }

  int64_t T, per_sequence, rows;
};

/// The queries of a part attend to all tokens of their sequence, whose rows of `qkv` are (T, 3 C):
/// (rows, C).
void attend(const BlockLayout& l, const float* qkv, int64_t first, int64_t rows,
            kernels::HeadAttention<float>& attention, float* out) {
  const auto part = [&](int64_t which, int64_t h, int64_t token) {
    return kernels::Rows<const float>{qkv + (token * 3 + which) * l.C + h * l.D(), 3 * l.C};
  };
  for (int64_t h = 0; h < l.H; ++h)
    attention.forward({.q = part(0, h, first),
                       .k = part(1, h, 0),
                       .v = part(2, h, 0),
                       .shape = {rows, l.T, l.D(), l.D()},
                       .scale = 1 / std::sqrt(static_cast<float>(l.D()))},
                      /*kept=*/nullptr, {out + h * l.D(), l.C});
}

/// Few sequences: all threads compute queries, keys and values of all, then the rest.
void by_parts(const BlockLayout& l, const PackedBlock& b, const float* x, float* y) {
  const Parts parts(l);
  const auto qkv = buffer(l.M() * 3 * l.C);
  const auto for_parts = [&](const auto& work) {
    at::parallel_for(0, l.B * parts.per_sequence, 1, [&](int64_t begin, int64_t end) {
      RowsPass pass(l, b, parts.rows);
      work(pass, begin, end);
    });
  };
  const auto row_of = [&](int64_t part) {
    return part / parts.per_sequence * l.T + parts.first_of(part);
  };
  for_parts([&](RowsPass& pass, int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      pass.project(x + row_of(part) * l.C, parts.rows_of(part), qkv.get() + row_of(part) * 3 * l.C);
  });
  for_parts([&](RowsPass& pass, int64_t begin, int64_t end) {
    const auto attention = kernels::head_attention<float>(l.head(), attention_factors(l.precision));
    for (int64_t part = begin; part < end; ++part) {
      const auto first = row_of(part) * l.C, R = parts.rows_of(part);
      attend(l, qkv.get() + part / parts.per_sequence * l.T * 3 * l.C, parts.first_of(part), R,
             *attention, pass.attended());
      pass.finish(x + first, R, y + first);
    }
  });
}

/// Throws unless all parameters fit rows of C numbers.
void check_fit(const PackedBlock& b, int64_t C) {
  const auto layer_fits = [](const char* name, const PackedWeight& w, const torch::Tensor& bias,
                             int64_t in, int64_t out) {
    check(w.inputs() == in && w.outputs() == out && (!bias.defined() || bias.numel() == out),
          "packed_block: {} makes {} numbers of {}{}, expected {} of {}", name, w.outputs(),
          w.inputs(), bias.defined() ? fmt::format(" with a bias of {}", bias.numel()) : "", out,
          in);
  };
  layer_fits("qkv", *b.qkv, b.qkv_bias, C, 3 * C);
  layer_fits("proj", *b.proj, b.proj_bias, C, C);
  layer_fits("fc1", *b.fc1, b.bias1, C, b.hidden);
  layer_fits("fc2", *b.fc2, b.bias2, b.hidden, C);
  for (const auto* t : {&b.gamma1, &b.beta1, &b.gamma2, &b.beta2})
    check(t->numel() == C, "packed_block: a norm of {} numbers does not fit rows of {}", t->numel(),
          C);
}

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
  check_fit(b, input.size(2));
  RECORD_FUNCTION("vitrine::packed_block", std::vector<c10::IValue>({input}));
  const auto x = input.contiguous();
  const BlockLayout layout{x.size(0), x.size(1), x.size(2), b.heads, b.hidden, b.qkv->precision()};
  auto y = torch::empty_like(x);
  const auto* in = x.data_ptr<float>();
  auto* out = y.data_ptr<float>();
  (shares_sequences(x.size(0), x.size(1)) ? by_sequences : by_parts)(layout, b, in, out);
  return y;
}

}  // namespace vitrine
