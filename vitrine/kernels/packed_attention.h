#pragma once

#include <vector>

#include "vitrine/kernels/attention.h"
#include "vitrine/kernels/packed_panels.h"

namespace vitrine::kernels {

/// Products with packed factors, in full or rounded to bf16. The weights that it keeps are as their
/// product reads them: numbers, or two bf16 numbers in the place of one.
class PackedAttention : public HeadAttention<float> {
 public:
  /// Queries, keys and values of a head as factors: numbers as they are, or rounded to bf16
  /// (`round_row`). Strides are in words.
  struct WordRows {
    Rows<const int32_t> q, k, v;
  };

  PackedAttention(const HeadShape& largest, Factors factors);

  /// Whether heads of this size gain by packed factors.
  static bool suits(const HeadShape& shape);

  int64_t kept_per_query() const override { return words_of(padded_, per_word_); }
  void forward(const Head<float>& head, float* kept, Rows<float> out) override;
  void backward(const Head<float>& head, const float* kept, Rows<const float> d_out,
                const HeadGradients<float>& gradients) override;
  /// The same of rows that are factors already; those of `head` are not read.
  void forward(const Head<float>& head, const WordRows& rows, float* kept, Rows<float> out);
  void backward(const Head<float>& head, const WordRows& rows, const float* kept,
                Rows<const float> d_out, const HeadGradients<float>& gradients);

 private:
  using Words = std::vector<int32_t>;

  /// A factor that makes the columns of a product.
  struct Panels {
    int64_t outputs = 0, words = 0;
    Words values{};
  };
  /// A factor that makes its rows.
  struct RowFactor {
    const int32_t* words;
    int64_t row_stride, group = 1;
  };

  bool rounds() const { return factors_ == Factors::Bf16; }
  Rows<const int32_t> to_factor(Rows<const float> rows, int64_t count, int64_t width, Words& words);
  WordRows to_factors(const Head<float>& head);
  RowFactor weight_factor(const float* rows, int64_t count, int32_t* words) const;
  RowFactor column_factor(const int32_t* rows, const HeadShape& shape, Words& interleaved) const;
  void pack_rows(Rows<const int32_t> rows, int64_t count, int64_t width, Panels& to);
  void pack_columns(Rows<const int32_t> rows, int64_t count, int64_t width, Panels& to);
  /// The first outputs, each of the first numbers of the rows.
  struct Extent {
    int64_t outputs, words;
  };
  void multiply(const RowFactor& rows, int64_t count, const Panels& panels, Rows<float> out) const {
    multiply(rows, count, panels, {panels.outputs, panels.words}, out);
  }
  void multiply(const RowFactor& rows, int64_t count, const Panels& panels, const Extent& extent,
                Rows<float> out) const;
  const float* kept_weights(const float* kept, int64_t count);

  const Factors factors_;
  const PackedLayout layout_;
  const int64_t per_word_;
  const int64_t padded_;  // the length of a row of scores: whole vectors
  Panels queries_, keys_, values_, d_out_;
  std::vector<float> scores_, weights_;  // of some queries
  Words q_words_, k_words_, v_words_, d_out_words_;
  Words score_words_, weight_words_, score_columns_, weight_columns_;  // of all queries
};

}  // namespace vitrine::kernels
