#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AttentionCost, tokens, stride, forward_ms, total_ms, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CostPart, threads, rounds, sparse, dense)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepCost, pattern, recompute, seconds, peak_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NetworkSize, parameters, layers, dim, key_width, hidden)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SamplingSpeed, model, batch, tokens, cached, uncached, passes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SamplingPart, threads, speeds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ImageSet, name, title, columns, files)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ImagesPart, sets)

inline void to_json(nlohmann::json& json, const StepPart& part) {
  json = {{"model", part.model},     {"size", part.size},     {"tokens", part.tokens},
          {"threads", part.threads}, {"sparse", part.sparse}, {"dense", part.dense}};
  if (part.all_kept) json["all_kept"] = *part.all_kept;
}

inline void from_json(const nlohmann::json& json, StepPart& part) {
  json.at("model").get_to(part.model);
  json.at("size").get_to(part.size);
  json.at("tokens").get_to(part.tokens);
  json.at("threads").get_to(part.threads);
  json.at("sparse").get_to(part.sparse);
  json.at("dense").get_to(part.dense);
  if (json.contains("all_kept")) part.all_kept = json.at("all_kept").get<StepCost>();
}

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
