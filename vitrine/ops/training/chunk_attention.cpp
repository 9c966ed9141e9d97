#include "vitrine/ops/training/chunk_attention.h"

#include <torch/torch.h>

#include <cmath>

#include "vitrine/ops/attention_heads.h"

namespace vitrine {
namespace {

/// Whether the factors of attention are words, which must not hold numbers of two heads.
bool by_words(const BlockLayout& l) {
  const bool whole = attention_factors(l.precision) == kernels::Factors::Full || l.D() % 2 == 0;
  return whole && kernels::PackedAttention::suits(l.head());
}

/// Whether queries, keys and values are kept as words of two bf16 numbers.
bool keeps_bf16(const BlockLayout& l) {
  return by_words(l) && attention_factors(l.precision) == kernels::Factors::Bf16;
}

/// The precision of the factors of attention.
Precision factor_precision(const BlockLayout& l) {
  return keeps_bf16(l) ? Precision::BFloat16 : Precision::Float32;
}

int64_t words_per_row(const BlockLayout& l) {
  return kernels::words_of(3 * l.C, numbers_per_word(factor_precision(l)));
}

}  // namespace

KeptAttention::KeptAttention(const BlockLayout& l)
    : qkv(torch::empty({l.M(), words_per_row(l)}, torch::kInt)),
      weights(empty_kept(l.B * l.H, l.head(), attention_factors(l.precision), torch::kFloat)) {}

ChunkAttention::ChunkAttention(const BlockLayout& l) : layout_(l) {
  const auto factors = attention_factors(l.precision);
  if (by_words(l))
    packed_ = std::make_unique<kernels::PackedAttention>(l.head(), factors);
  else
    plain_ = kernels::head_attention<float>(l.head(), factors);
  words_ = std::make_unique_for_overwrite<int32_t[]>(l.rows() * words_per_row(l));
}

int32_t* ChunkAttention::qkv(int64_t chunk, const KeptAttention* kept) const {
  if (!kept) return words_.get();
  return kept->qkv.data_ptr<int32_t>() + layout_.first_row(chunk) * words_per_row(layout_);
}

Precision ChunkAttention::precision() const { return factor_precision(layout_); }

template <typename Work>
void ChunkAttention::for_heads(int64_t chunk, const Work& work) const {
  const auto& l = layout_;
  for (int64_t i = 0; i < l.rows_of(chunk) / l.T; ++i)
    for (int64_t h = 0; h < l.H; ++h) work(Place{i, h, (chunk * l.sequences() + i) * l.H + h});
}

kernels::Head<float> ChunkAttention::head(const Place& place, const Dropout& dropout,
                                          const float* qkv) const {
  const auto& l = layout_;
  const auto part = [&](int64_t which) {
    return kernels::Rows<const float>{qkv + place.i * l.T * 3 * l.C + which * l.C + place.h * l.D(),
                                      3 * l.C};
  };
  return {.q = part(0),
          .k = part(1),
          .v = part(2),
          .shape = l.head(),
          .scale = 1 / std::sqrt(static_cast<float>(l.D())),
          .dropout = {static_cast<float>(dropout.probability),
                      static_cast<uint64_t>(dropout.key + place.number)}};
}

kernels::PackedAttention::WordRows ChunkAttention::word_rows(const Place& place,
                                                             const int32_t* qkv) const {
  const auto& l = layout_;
  const auto per_word = numbers_per_word(factor_precision(l)), stride = words_per_row(l);
  const auto part = [&](int64_t which) {
    return kernels::Rows<const int32_t>{
        qkv + place.i * l.T * stride + (which * l.C + place.h * l.D()) / per_word, stride};
  };
  return {part(0), part(1), part(2)};
}

void ChunkAttention::forward(int64_t chunk, const Dropout& dropout, const KeptAttention* kept,
                             float* out) {
  const auto& l = layout_;
  const auto C = l.C;
  const auto* words = this->qkv(chunk, kept);
  const auto* qkv = reinterpret_cast<const float*>(words);  // read in fp32 alone
  for_heads(chunk, [&](const Place& place) {
    const kernels::Rows<float> to{out + place.i * l.T * C + place.h * l.D(), C};
    const auto keep = [&](int64_t per_query) {
      return kept ? kept->weights.data_ptr<float>() + place.number * l.T * per_query : nullptr;
    };
    if (packed_)
      packed_->forward(head(place, dropout, qkv), word_rows(place, words),
                       keep(packed_->kept_per_query()), to);
    else
      plain_->forward(head(place, dropout, qkv), keep(plain_->kept_per_query()), to);
  });
}

void ChunkAttention::backward(int64_t chunk, const Dropout& dropout, const KeptAttention& kept,
                              const float* d_out, float* d_qkv) {
  const auto& l = layout_;
  const auto C = l.C, D = l.D();
  const auto* words = this->qkv(chunk, &kept);
  const auto* qkv = reinterpret_cast<const float*>(words);  // read in fp32 alone
  for_heads(chunk, [&](const Place& place) {
    const kernels::Rows<const float> from{d_out + place.i * l.T * C + place.h * D, C};
    const auto gradient = [&](int64_t which) {
      return kernels::Rows<float>{d_qkv + place.i * l.T * 3 * C + which * C + place.h * D, 3 * C};
    };
    const auto keep = [&](int64_t per_query) {
      return kept.weights.data_ptr<float>() + place.number * l.T * per_query;
    };
    const kernels::HeadGradients<float> to{gradient(0), gradient(1), gradient(2)};
    if (packed_)
      packed_->backward(head(place, dropout, qkv), word_rows(place, words),
                        keep(packed_->kept_per_query()), from, to);
    else
      plain_->backward(head(place, dropout, qkv), keep(plain_->kept_per_query()), from, to);
  });
}

}  // namespace vitrine
