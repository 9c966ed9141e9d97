#include "vitrine/infer/precision.h"

#include <malloc.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/formats/mapped_tensor.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/normed_conv.h"
#include "vitrine/weights/load.h"

namespace vitrine {
namespace {

bool classifies_images(const Model& model) {
  return model.task() == Task::Classes && model.image_shape().has_value();
}

bool generates(Model& model) { return model.decoder() != nullptr; }

/// Packs the weights of all blocks; gives back how many layers have.
int64_t pack_blocks(const Model& model, Precision precision) {
  int64_t packed = 0;
  for (const auto& block : model.blocks_in_order()) {
    for (const auto& layer : block->modules())
      if (auto* linear = layer->as<Linear>()) {
        const auto before = linear->weight.detach();
        if (!linear->pack(precision)) continue;
        give_back(before);
        ++packed;
      }
    malloc_trim(0);  // the block's weights as they were are gone: give their memory back
  }
  return packed;
}

void fold_norms(const Model& model) {
  for (const auto& layer : model.modules())
    if (auto* conv = layer->as<NormedConv>()) conv->fold();
}

}  // namespace

void set_precision(Model& model, Precision precision, const std::string& name) {
  if (precision == Precision::Float32) return;
  const auto& wanted = precision_name(precision);
  check(classifies_images(model),
        "{}: {} does not classify images, and only image classifiers compute in bf16 or int8; use "
        "precision fp32",
        wanted, name);
  for (const auto& parameter : model.parameters())
    check(parameter.device().is_cpu(), "{}: {} is on {}, and only CPUs compute so; use device cpu",
          wanted, name, parameter.device().str());
  check(pack_blocks(model, precision) > 0,
        "{}: {} has no transformer blocks, and convolutions compute in fp32 alone; use precision "
        "fp32",
        wanted, name);
}

void prepare_for_inference(Model& model, Precision precision, const std::string& name) {
  set_precision(model, precision, name);
  const auto parameters = model.parameters();
  const bool on_cpu = std::all_of(parameters.begin(), parameters.end(),
                                  [](const auto& p) { return p.device().is_cpu(); });
  if (on_cpu && (classifies_images(model) || generates(model))) {
    fold_norms(model);
    if (precision == Precision::Float32) pack_blocks(model, precision);
  }
  own_weights(model);
}

std::string precision_note(Precision precision) {
  if (precision == Precision::BFloat16 && !kernels::has_bf16_products())
    return "note: this CPU has no bf16 instructions (AVX512_BF16), so bf16 is no faster than fp32";
  return "";
}

}  // namespace vitrine
