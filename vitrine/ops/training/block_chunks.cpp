#include "vitrine/ops/training/block_chunks.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/kernels/activation.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/layer_norm.h"
#include "vitrine/kernels/rows.h"
#include "vitrine/ops/random_key.h"

namespace vitrine {
namespace {

/// All rows of a chunk as one tile.
Tile whole_chunk(float* rows, int64_t R, int64_t C) {
  return {.values = rows, .stride = C, .row = 0, .rows = R, .column = 0, .columns = C};
}

/// out = base + tile, where the rows of a chunk lie side by side.
void add_tile(const Tile& tile, const float* base, int64_t C, float* out) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const auto at = (tile.row + r) * C + tile.column;
    kernels::add_row(base + at, tile.values + r * tile.stride, tile.columns, out + at);
  }
}

/// Rows [first, first + count) of a chunk.
struct RowBlock {
  int64_t first, count;
};

/// Calls `work(block)` for blocks of rows that stay in a cache.
template <typename Work>
void for_row_blocks(int64_t R, const Work& work) {
  for (int64_t first = 0; first < R; first += kRowsPerTask)
    work(RowBlock{first, std::min(kRowsPerTask, R - first)});
}

/// The words of all R rows, of which `words_of(block)` gives those of a block; they lie one behind
/// the other.
template <typename WordsOf>
WordRows by_row_blocks(int64_t R, const WordsOf& words_of) {
  WordRows all{};
  for_row_blocks(R, [&](RowBlock b) {
    const WordRows some = words_of(b);
    if (b.first == 0) all = some;
  });
  all.rows = R;
  return all;
}

kernels::NormRows<float> norm_rows(const float* x, const BlockNorm& norm, int64_t C, RowBlock b,
                                   const BlockScratch& s) {
  return {x + b.first * C,        norm.gamma.data_ptr<float>(), b.count, C,
          s.mean.get() + b.first, s.inv_std.get() + b.first};
}

/// The words of rows (R, K) that lie in the cache, in their place in `s.words`.
WordRows block_words(const BlockLayout& l, const float* rows, int64_t K, RowBlock b,
                     const BlockScratch& s) {
  const auto width = kernels::words_of(K, numbers_per_word(l.precision));
  return to_words(rows + b.first * K, b.count, K, l.precision, s.words.get() + b.first * width);
}

/// The norm of some rows, in their place in `s.tokens`.
const float* normed(const BlockLayout& l, const float* x, const BlockNorm& norm, double eps,
                    RowBlock b, const BlockScratch& s) {
  auto* out = s.tokens.get() + b.first * l.C;
  kernels::layer_norm(norm_rows(x, norm, l.C, b, s), norm.beta.data_ptr<float>(),
                      static_cast<float>(eps), out);
  return out;
}

/// The sums of the rows (n, K): (K).
torch::Tensor sum_of_rows(const torch::Tensor& rows) {
  auto sums = torch::empty({rows.size(1)});
  kernels::sum_rows(rows.data_ptr<float>(), rows.size(1), rows.size(0), rows.size(1),
                    sums.data_ptr<float>());
  return sums;
}

TrainingProduct forward_product(const torch::Tensor& weight, const torch::Tensor& bias,
                                Precision precision) {
  return {precision, packed_rows(weight, precision), weight.size(0), bias};
}

TrainingProduct backward_product(const torch::Tensor& weight, Precision precision) {
  return {precision, packed_columns(weight, precision), weight.size(1)};
}

}  // namespace

BlockKeys BlockKeys::draw(const EncoderBlockSettings& s) {
  const auto key = [](double p) { return p > 0 ? static_cast<int64_t>(draw_random_key()) : 0; };
  BlockKeys keys;  // in the order of the layers
  keys.attention = key(s.attention_dropout);
  keys.projection = key(s.dropout);
  keys.path1 = key(s.drop_path);
  keys.hidden = key(s.dropout);
  keys.output = key(s.dropout);
  keys.path2 = key(s.drop_path);
  return keys;
}

BranchDropout::BranchDropout(const BlockLayout& l, const EncoderBlockSettings& settings,
                             int64_t key, int64_t path_key)
    : T_(l.T), elements_{settings.dropout, key, l.C} {
  if (settings.drop_path == 0) return;
  kept_.assign(l.B, 1);
  kernels::dropout(kept_.data(), kept_.data(), l.B, static_cast<float>(settings.drop_path),
                   static_cast<uint64_t>(path_key), 0);
}

void BranchDropout::apply(const Tile& tile, int64_t first_row) const {
  auto elements = elements_;
  elements.first_row = first_row;
  elements.apply(tile);
  if (kept_.empty()) return;
  for (int64_t r = 0; r < tile.rows; ++r)
    kernels::scale_row(tile.values + r * tile.stride, tile.columns,
                       kept_[(first_row + tile.row + r) / T_]);
}

KeptBlock::KeptBlock(const BlockLayout& l)
    : attention(l),
      mixed_groups(empty_groups(l.height(), l.C, kernels::packed_layout().columns)),
      h(torch::empty({l.M(), l.C})),
      before(ActivationInputs(l.M(), l.F, l.precision, Activation::Gelu).numbers()) {}

BlockScratch::BlockScratch(const BlockLayout& l, bool backward) : attention(l) {
  const auto R = l.rows(), per_word = numbers_per_word(l.precision);
  const auto numbers = [](int64_t n) { return std::make_unique_for_overwrite<float[]>(n); };
  tokens = numbers(R * l.C);
  mean = numbers(R);
  inv_std = numbers(R);
  words = std::make_unique_for_overwrite<int32_t[]>(R * kernels::words_of(3 * l.C, per_word));
  hidden = std::make_unique_for_overwrite<int32_t[]>(R * kernels::words_of(l.F, per_word));
  if (!backward) return;
  d_qkv = numbers(R * 3 * l.C);
  d_tokens = numbers(R * l.C);
  d_h = numbers(R * l.C);
}

BlockForward::BlockForward(const BlockLayout& layout, const EncoderBlockWeights& weights,
                           const EncoderBlockSettings& settings, const BlockKeys& keys)
    : l_(layout),
      w_(weights),
      settings_(settings),
      keys_(keys),
      branch1_(layout, settings, keys.projection, keys.path1),
      branch2_(layout, settings, keys.output, keys.path2),
      qkv_(forward_product(weights.qkv_weight, weights.qkv_bias, layout.precision)),
      proj_(forward_product(weights.proj_weight, weights.proj_bias, layout.precision)),
      fc1_(forward_product(weights.mlp.weight1, weights.mlp.bias1, layout.precision)),
      fc2_(forward_product(weights.mlp.weight2, weights.mlp.bias2, layout.precision)) {}

void BlockForward::run(int64_t chunk, const float* all_x, float* all_y, const KeptBlock* kept,
                       BlockScratch& s) const {
  const auto first = l_.first_row(chunk), R = l_.rows_of(chunk), C = l_.C;
  const float* x = all_x + first * C;
  float* y = all_y + first * C;
  float* h = kept ? kept->h.data_ptr<float>() + first * C : y;

  const auto normed_words = [&](const float* rows, const BlockNorm& norm) {
    return by_row_blocks(R, [&](RowBlock b) {
      normed(l_, rows, norm, settings_.norm_eps, b, s);
      return block_words(l_, s.tokens.get(), C, b, s);
    });
  };

  const auto* kept_attention = kept ? &kept->attention : nullptr;
  qkv_.write_words(normed_words(x, {w_.gamma1, w_.beta1, 0}), s.attention.precision(),
                   s.attention.qkv(chunk, kept_attention));
  s.attention.forward(chunk, {settings_.attention_dropout, keys_.attention}, kept_attention,
                      s.tokens.get());
  const auto mixed = to_words(s.tokens.get(), R, C, l_.precision, s.words.get());
  if (kept)
    column_groups(kept->mixed_groups, C, l_.precision)
        .write(s.tokens.get(), C, R, l_.first_word(chunk), 0, C);
  proj_.tiles(mixed, [&](const Tile& tile) {
    branch1_.apply(tile, first);
    add_tile(tile, x, C, h);
  });

  const TileDropout dropout{settings_.dropout, keys_.hidden, l_.F, first};
  const FactorTarget hidden{.precision = l_.precision,
                            .rows = s.hidden.get(),
                            .row_words = kernels::words_of(l_.F, numbers_per_word(l_.precision))};
  fc1_.tiles(normed_words(h, {w_.gamma2, w_.beta2, 1}), [&](const Tile& tile) {
    if (kept) ActivationInputs(kept->before, settings_.activation).keep(tile, first);
    kernels::activate(settings_.activation, tile.values, tile.numbers(), tile.values);
    dropout.apply(tile);
    hidden.write(tile);
  });
  fc2_.tiles({s.hidden.get(), hidden.row_words, R}, [&](const Tile& tile) {
    branch2_.apply(tile, first);
    add_tile(tile, settings_.norm_stream ? s.tokens.get() : h, C, y);
  });
}

BlockBackward::Sums::Sums(const BlockLayout& l, int64_t K)
    : groups(empty_groups(l.height(), K, kRowsPerTask)),
      block_sums(torch::zeros({l.chunks() * l.blocks(), K})) {
  columns = column_groups(groups, K, l.precision);
}

BlockBackward::Inputs::Inputs(const BlockLayout& l, int64_t K)
    : groups(empty_groups(l.height(), K, kernels::packed_layout().columns)) {
  columns = column_groups(groups, K, l.precision);
}

BlockBackward::BlockBackward(const BlockLayout& layout, const EncoderBlockWeights& weights,
                             const EncoderBlockSettings& settings, const BlockKeys& keys,
                             const KeptBlock& kept)
    : l_(layout),
      w_(weights),
      settings_(settings),
      keys_(keys),
      kept_(kept),
      branch1_(layout, settings, keys.projection, keys.path1),
      branch2_(layout, settings, keys.output, keys.path2),
      qkv_(backward_product(weights.qkv_weight, layout.precision)),
      proj_(backward_product(weights.proj_weight, layout.precision)),
      fc1_(backward_product(weights.mlp.weight1, layout.precision)),
      fc2_(backward_product(weights.mlp.weight2, layout.precision)),
      d_qkv_(layout, 3 * layout.C),
      d_proj_(layout, layout.C),
      d_fc1_(layout, layout.F),
      d_fc2_(layout, layout.C),
      norm1_(layout, layout.C),
      norm2_(layout, layout.C),
      hidden_(layout, layout.F),
      norm_sums_(torch::zeros({4, layout.chunks(), layout.C})) {}

WordRows BlockBackward::take(const float* rows, int64_t chunk, const Sums& sums,
                             BlockScratch& s) const {
  const auto K = sums.columns.K;
  auto* block_sums = sums.block_sums.data_ptr<float>() + chunk * l_.blocks() * K;
  return by_row_blocks(l_.rows_of(chunk), [&](RowBlock b) {
    kernels::sum_rows(rows + b.first * K, K, b.count, K, block_sums + b.first / kRowsPerTask * K);
    sums.columns.write(rows + b.first * K, K, b.count,
                       l_.first_word(chunk) + b.first / sums.columns.per_word, 0, K);
    return block_words(l_, rows, K, b, s);
  });
}

const float* BlockBackward::through(const BranchDropout& branch, int64_t chunk,
                                    const float* gradient, BlockScratch& s) const {
  if (branch.off()) return gradient;
  const auto R = l_.rows_of(chunk);
  std::copy_n(gradient, R * l_.C, s.d_tokens.get());
  branch.apply(whole_chunk(s.d_tokens.get(), R, l_.C), l_.first_row(chunk));
  return s.d_tokens.get();
}

void BlockBackward::feed_forward(int64_t chunk, const float* dy, BlockScratch& s) const {
  const auto first = l_.first_row(chunk), R = l_.rows_of(chunk), F = l_.F;
  const auto d_output = take(through(branch2_, chunk, dy, s), chunk, d_fc2_, s);
  const ActivationInputs before(kept_.before, settings_.activation);
  const TileDropout dropout{settings_.dropout, keys_.hidden, F, first};
  const auto first_word = l_.first_word(chunk);
  const FactorTarget hidden{
      .precision = l_.precision, .groups = &hidden_.columns, .first_word = first_word};
  const FactorTarget d_before{
      .precision = l_.precision,
      .rows = s.hidden.get(),
      .row_words = kernels::words_of(F, numbers_per_word(l_.precision)),
      .groups = &d_fc1_.columns,
      .first_word = first_word,
      .block_sums = d_fc1_.block_sums.data_ptr<float>() + chunk * l_.blocks() * F,
      .K = F};
  fc2_.tiles(d_output, [&](const Tile& tile) {
    float again[kRowsPerTask * kMostColumns];
    dropout.apply(tile);
    before.backward(tile, first, again);
    d_before.write(tile);
    auto outputs = tile;
    outputs.values = again;
    dropout.apply(outputs);
    hidden.write(outputs);
  });
  fc1_.write({s.hidden.get(), d_before.row_words, R}, s.d_tokens.get());
}

void BlockBackward::attention(int64_t chunk, BlockScratch& s) const {
  const auto d_output = take(through(branch1_, chunk, s.d_h.get(), s), chunk, d_proj_, s);
  proj_.write(d_output, s.tokens.get());
  s.attention.backward(chunk, {settings_.attention_dropout, keys_.attention}, kept_.attention,
                       s.tokens.get(), s.d_qkv.get());
  qkv_.write(take(s.d_qkv.get(), chunk, d_qkv_, s), s.d_tokens.get());
}

void BlockBackward::norm(int64_t chunk, const float* x, const BlockNorm& norm, const Inputs& inputs,
                         const float* residual, float* dx, BlockScratch& s) const {
  const auto C = l_.C;
  auto* sums = norm_sums_.data_ptr<float>() + chunk * C;
  const auto d_gamma = sums + 2 * norm.index * l_.chunks() * C, d_beta = d_gamma + l_.chunks() * C;
  for_row_blocks(l_.rows_of(chunk), [&](RowBlock b) {
    inputs.columns.write(normed(l_, x, norm, settings_.norm_eps, b, s), C, b.count,
                         l_.first_word(chunk) + b.first / inputs.columns.per_word, 0, C);
    const auto at = b.first * C;
    kernels::layer_norm_backward(norm_rows(x, norm, C, b, s), s.d_tokens.get() + at, dx + at,
                                 d_gamma, d_beta);
    if (residual) kernels::add_row(dx + at, residual + at, b.count * C, dx + at);
  });
}

void BlockBackward::run(int64_t chunk, const float* all_x, const float* all_dy, float* all_dx,
                        BlockScratch& s) const {
  const auto first = l_.first_row(chunk) * l_.C, numbers = l_.rows_of(chunk) * l_.C;
  const float* dy = all_dy + first;
  float *d_tokens = s.d_tokens.get(), *d_h = s.d_h.get();
  feed_forward(chunk, dy, s);
  if (settings_.norm_stream) kernels::add_row(d_tokens, dy, numbers, d_tokens);
  norm(chunk, kept_.h.data_ptr<float>() + first, {w_.gamma2, w_.beta2, 1}, norm2_,
       settings_.norm_stream ? nullptr : dy, d_h, s);
  attention(chunk, s);
  norm(chunk, all_x + first, {w_.gamma1, w_.beta1, 0}, norm1_, d_h, all_dx + first, s);
}

std::vector<torch::Tensor> BlockBackward::parameter_gradients() const {
  const auto weight = [&](const Sums& d_output, const torch::Tensor& inputs, int64_t K) {
    return TrainingProduct(l_.precision, inputs, K)
        .of({d_output.groups, d_output.columns.K, /*grouped=*/true});
  };
  const auto norm = [&](int64_t i) { return sum_of_rows(norm_sums_[i]); };
  return {norm(0),
          norm(1),
          weight(d_qkv_, norm1_.groups, l_.C),
          sum_of_rows(d_qkv_.block_sums),
          weight(d_proj_, kept_.mixed_groups, l_.C),
          sum_of_rows(d_proj_.block_sums),
          norm(2),
          norm(3),
          weight(d_fc1_, norm2_.groups, l_.C),
          sum_of_rows(d_fc1_.block_sums),
          weight(d_fc2_, hidden_.groups, l_.F),
          sum_of_rows(d_fc2_.block_sums)};
}

}  // namespace vitrine
