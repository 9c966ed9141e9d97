#pragma once

// Parts of studies that are measured, not trained: each is a JSON file in the study's folder.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/studies/study.h"

namespace vitrine {

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
    fail("study: {} is not a part of the study ({}); remove it and measure again", file.string(),
         e.what());
  }
}

inline fs::path part_file(const StudyOptions& o, const std::string& name) {
  return o.out / fmt::format("{}{}.json", name, o.smoke ? "-smoke" : "");
}

/// What is stored in the part's file; measured first if it is asked for, missing, `outdated`, or
/// older than one of the `sources` that it is made of.
template <typename Part, typename Measure>
std::optional<Part> measured_part(const StudyOptions& o, const std::string& name,
                                  const Measure& measure, const std::vector<fs::path>& sources = {},
                                  bool outdated = false) {
  const auto file = part_file(o, name);
  const auto is_newer = [&](const fs::path& source) {
    return fs::last_write_time(file) < fs::last_write_time(source);
  };
  const bool old =
      !fs::exists(file) || outdated || std::any_of(sources.begin(), sources.end(), is_newer);
  if ((o.names(name) || (o.parts.empty() && old)) && !interrupted()) {
    fmt::print(stderr, "{}\n", name);
    write_part(file, measure());
  }
  return read_part<Part>(file);
}

}  // namespace vitrine
