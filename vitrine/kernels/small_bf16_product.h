#pragma once

#include <cstdint>

#include "vitrine/kernels/small_product.h"

namespace vitrine::kernels {

/// `small_product` of factors in bf16 with sums in fp32: c += alpha * a b, or c = alpha * a b
/// without `add`. A word of a or b holds two numbers that follow each other along the sum, which is
/// over 2 k numbers: a is (m, k) words, b (k, n) words, c (m, n) floats.
void small_bf16_product(int64_t m, int64_t n, int64_t k, float alpha, StridedMatrix<int32_t> a,
                        RowMatrix<const int32_t> b, RowMatrix<float> c, bool add);

}  // namespace vitrine::kernels
