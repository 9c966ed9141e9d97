#include "vitrine/infer/precision.h"

#include <malloc.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/models/model.h"

namespace vitrine {

void set_precision(Model& model, Precision precision, const std::string& name) {
  if (precision == Precision::Float32) return;
  const auto& wanted = precision_name(precision);
  check(model.task() == Task::Classes && model.image_shape().has_value(),
        "{}: {} does not classify images, and only image classifiers compute in bf16 or int8; use "
        "precision fp32",
        wanted, name);
  for (const auto& parameter : model.parameters())
    check(parameter.device().is_cpu(), "{}: {} is on {}, and only CPUs compute so; use device cpu",
          wanted, name, parameter.device().str());
  int64_t changed = 0;
  for (const auto& block : model.blocks_in_order())
    for (const auto& layer : block->modules())
      if (auto* linear = layer->as<Linear>()) changed += linear->lower_precision(precision);
  check(changed > 0,
        "{}: {} has no transformer blocks, and convolutions compute in fp32 alone; use precision "
        "fp32",
        wanted, name);
  malloc_trim(0);  // the weights in fp32 are gone: give their memory back
}

std::string precision_note(Precision precision) {
  if (precision == Precision::BFloat16 && !kernels::has_bf16_products())
    return "note: this CPU has no bf16 instructions (AVX512_BF16), so bf16 is no faster than fp32";
  return "";
}

}  // namespace vitrine
