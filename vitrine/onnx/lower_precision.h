#pragma once

#include "vitrine/core/precision.h"
#include "vitrine/onnx/graph.h"

namespace vitrine {

/// Has products with constant matrices computed in lower precision; all else stays in fp32. Int8:
/// the matrices have a scale for each output, the other factor one for the whole tensor, found when
/// it arrives (DynamicQuantizeLinear, MatMulInteger). BFloat16: the matrices are rounded and stored
/// in half the bytes, and cast back to compute. Throws where there is no such product, and for
/// matrices with numbers that are not finite.
void lower_precision(OnnxGraph& graph, Precision precision);

}  // namespace vitrine
