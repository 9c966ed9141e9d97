#include "vitrine/kernels/rows.h"

// Vectors of a size that only the machine knows have no constant number of lanes.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;

constexpr int64_t kLanes = hn::MaxLanes(FloatTag());

float row_dot(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y, int64_t n) {
  const FloatTag f;
  auto total = hn::Zero(f);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    total = hn::MulAdd(hn::LoadU(f, x + i), hn::LoadU(f, y + i), total);
  float sum = hn::GetLane(hn::SumOfLanes(f, total));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

void row_scale(float* row, int64_t n, float factor) {
  const FloatTag f;
  const auto same = hn::Set(f, factor);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(f, row + i), same), f, row + i);
  for (; i < n; ++i) row[i] *= factor;
}

void row_add(const float* x, const float* y, int64_t n, float* out) {
  const FloatTag f;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(hn::Add(hn::LoadU(f, x + i), hn::LoadU(f, y + i)), f, out + i);
  for (; i < n; ++i) out[i] = x[i] + y[i];
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(row_dot);
HWY_EXPORT(row_scale);
HWY_EXPORT(row_add);

float dot_product(const float* x, const float* y, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(row_dot)(x, y, n);
}
void scale_row(float* row, int64_t n, float factor) {
  HWY_DYNAMIC_DISPATCH(row_scale)(row, n, factor);
}
void add_row(const float* x, const float* y, int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(row_add)(x, y, n, out);
}

}  // namespace vitrine::kernels
#endif
