#pragma once

#include "vitrine/studies/measured_part.h"
#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AttentionCost, tokens, stride, forward_ms, total_ms, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CostPart, threads, rounds, sparse, dense)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepCost, pattern, recompute, seconds, peak_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NetworkSize, parameters, layers, dim, key_width, hidden)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepPart, model, size, tokens, threads, sparse,
                                                dense, all_kept)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SamplingSpeed, model, batch, tokens, cached, uncached, passes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SamplingPart, threads, speeds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ImageSet, name, files)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ImagesPart, sets)

}  // namespace vitrine::sparse
