#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/data/batch.h"
#include "vitrine/train/config.h"

namespace vitrine {

/// What decides the bits of a run, as far as it can be told when the run is resumed.
struct RunFingerprint {
  /// Keys and values of the recipe, but for those that may change between a stop and a resume: how
  /// long the run is, how often it reports, and where its data lie.
  std::vector<std::pair<std::string, std::string>> settings{};
  std::vector<int64_t> sizes{};  // examples of the training, validation and test split
  std::vector<double> means{};   // of the inputs and targets of a few training examples

  bool empty() const { return sizes.empty(); }
};

RunFingerprint fingerprint_of(const Recipe& recipe, const Splits& data);

/// Throws if the run in `folder` began `then` with other settings or examples than `now`.
void check_same_run(const RunFingerprint& then, const RunFingerprint& now,
                    const std::string& folder);

void to_json(nlohmann::ordered_json& j, const RunFingerprint& fingerprint);
void from_json(const nlohmann::ordered_json& j, RunFingerprint& fingerprint);

}  // namespace vitrine
