#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/core/error.h"
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

template <typename Part>
void write_part(const fs::path& file, const Part& part) {
  write_file_atomically(file, nlohmann::json(part).dump(2) + "\n");
}

/// Nothing if the part has not been measured yet.
template <typename Part>
std::optional<Part> read_part(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  try {
    return nlohmann::json::parse(read_file(file)).get<Part>();
  } catch (const nlohmann::json::exception& e) {
    fail("study sparse: {} is not a part of the study ({}); remove it and measure again",
         file.string(), e.what());
  }
}

}  // namespace vitrine::sparse
