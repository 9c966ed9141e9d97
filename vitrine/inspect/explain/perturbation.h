#pragma once

#include <torch/types.h>

#include "vitrine/inspect/explain.h"
#include "vitrine/models/model.h"

namespace vitrine {

/// The curves of every map and, last, of a random order that `seed` decides, for class `target` of
/// one preprocessed image `x` (1, C, S, S). The parts are the cells of the finest map; coarser maps
/// are interpolated to it (bilinear), and cells of equal value come in random order. What is
/// removed becomes 0, the mean colour of preprocessing.
std::vector<PerturbationCurves> perturbation_curves(Model& model, const torch::Tensor& x,
                                                    int64_t target,
                                                    const std::vector<MethodMap>& maps,
                                                    uint64_t seed);

}  // namespace vitrine
