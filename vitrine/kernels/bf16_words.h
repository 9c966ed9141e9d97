#pragma once

#include <cstdint>

// Matrices of bf16 numbers, two to a 32-bit word, in the orders that products want.
namespace vitrine::kernels {

/// A row of k numbers rounded to bf16; ties to even.
void round_row(const float* x, int64_t k, int32_t* words);

/// The same of `rows` rows that begin `x_stride` numbers apart, and their words `word_stride`.
void round_rows(const float* x, int64_t x_stride, int64_t rows, int64_t k, int32_t* words,
                int64_t word_stride);

/// A row of k numbers in bf16 as they are.
void expand_row(const int32_t* words, int64_t k, float* x);

/// Of two rows of n bf16 numbers each, n words: a number of `even` in the lower half, of `odd` in
/// the upper one. Without `odd` that is 0.
void interleave_rows(const uint16_t* even, const uint16_t* odd, int64_t n, int32_t* words);

/// The same for all pairs among `rows` rows of numbers in fp32, which are rounded. Rows begin
/// `row_stride` numbers apart; the words of a pair begin `word_stride` behind those of the one
/// before.
void round_pairs(const float* x, int64_t row_stride, int64_t rows, int64_t n, int32_t* words,
                 int64_t word_stride);

/// sums[j] = the sum of x[i * row_stride + j] over all i < rows, for j < n; in fp32.
void sum_rows(const float* x, int64_t row_stride, int64_t rows, int64_t n, float* sums);

}  // namespace vitrine::kernels
