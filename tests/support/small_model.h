#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "vitrine/core/settings.h"
#include "vitrine/models/registry.h"

namespace vitrine::test {

/// The named model, made small enough to train in a test: the same code, fewer numbers.
inline ModelChoice small(const std::string& name) {
  ModelChoice choice(name);
  const auto text = to_yaml(choice);
  const auto says = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  const auto has = [&](const std::string& key) { return says("\n" + key + ":"); };
  const bool hybrid = has("backbone") && !says("kind: none");
  std::string overrides = "name: " + name + "\n";
  const auto list_of = [&](const std::string& key) {
    const auto begin = text.find("\n" + key + ": [");
    return begin == std::string::npos ? "" : text.substr(begin, text.find(']', begin) - begin);
  };
  const auto per_stage = [&](const std::string& key, std::vector<int64_t> numbers) {
    if (list_of(key).empty()) return;
    const auto dims = list_of("dims");
    numbers.resize(std::count(dims.begin(), dims.end(), ',') + 1);
    overrides += fmt::format("{}: [{}]\n", key, fmt::join(numbers, ", "));
  };
  if (has("dims")) {  // a pyramid, whose lists have a number for each stage
    per_stage("dims", {8, 16, 24, 32});
    per_stage("depths", {1, 2, 1, 1});
    per_stage("heads", {1, 2, 2, 2});
    per_stage("mlp_ratios", {2, 2, 2, 2});
    per_stage("kv_strides", {2, 2, 2, 2});
    per_stage("patches", {2, 2, 2, 2});
    per_stage("strides", {2, 2, 2, 2});
  }
  if (has("colors"))
    overrides += "image: 4\ncolors: 11\nlayers: 2\n";
  else if (has("image"))
    overrides += "image: 32\nclasses: 5\n";
  if (has("patch")) overrides += hybrid ? "patch: 1\n" : "patch: 8\n";
  if (hybrid && says("kind: bit"))
    overrides +=
        says("blocks: []") ? "backbone: {width: 32}\n" : "backbone: {width: 32, blocks: [1, 1]}\n";
  if (has("window"))
    overrides += "dim: 12\ndepths: [2, 1]\nheads: [2, 3]\nwindow: 2\n";
  else if (has("dim"))
    overrides += "dim: 24\nheads: 2\nhidden: 48\n";
  if (has("depth")) overrides += "depth: 2\n";
  if (has("blocks")) overrides += "blocks: [1, 1]\n";
  if (has("vocabulary")) overrides += "vocabulary: 40\ncontext: 6\n";
  if (has("key_width")) overrides += "key_width: 12\nlayers: 2\nrows: 4\ncolumns: 5\n";
  for (const auto* key : {"dropout", "attention_dropout", "drop_path", "token_dropout"})
    if (has(key)) overrides += std::string(key) + ": 0\n";
  Settings::from_text(overrides, "test").read_into(choice);
  return choice;
}

}  // namespace vitrine::test
