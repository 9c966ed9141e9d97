#include "vitrine/weights/name_map.h"

#include <torch/torch.h>

#include <map>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/weights/name_rows.h"
#include "vitrine/weights/steps.h"

namespace vitrine {

bool recognises(const NameMap& map, const TensorFile& file) {
  return find_prefix(map, file) != nullptr;
}

int64_t fit_of(const NameMap& map, const NamedTensors& ours) {
  std::set<std::string> unnamed;
  for (const auto& [name, value] : ours) unnamed.insert(name);
  int64_t lacking = 0;
  for (const auto& row : expanded_rows(map, ours, NamedBy::Us).rows)
    for (const auto& name : row.ours)
      if (unnamed.erase(name) == 0 && !row.optional) ++lacking;
  return std::ssize(ours) - std::ssize(unnamed) - lacking;
}

NamedTensors exported(const NameMap& map, const NamedTensors& ours,
                      const std::vector<WeightShape>& weights, int64_t heads) {
  const auto known = by_name(weights);
  std::map<std::string, torch::Tensor> values(ours.begin(), ours.end());
  std::set<std::string> written;
  NamedTensors result;
  const auto first = spelled(map, [](const std::string&) { return true; });
  for (const auto& row : expanded_rows(first, ours, NamedBy::Us).rows) {
    const auto is_there = [&](const std::string& name) { return values.contains(name); };
    if (row.optional && std::none_of(row.ours.begin(), row.ours.end(), is_there)) continue;
    std::vector<torch::Tensor> parts;
    for (const auto& name : row.ours) {
      written.insert(name);
      const auto found = values.find(name);
      check(found != values.end() && known.contains(name),
            "export: the model has no weight '{}', so it cannot become {}", name, map.source);
      parts.push_back(found->second);
    }
    const auto whole = parts.size() > 1 ? torch::cat(parts) : parts[0];
    if (row.theirs.size() > 1)
      parts = whole.split_with_sizes(part_rows(*known.at(row.ours[0]), row.theirs.size()));
    else
      parts = {whole};
    for (size_t i = 0; i < parts.size(); ++i)
      result.emplace_back(map.prefixes[0] + row.theirs[i],
                          without_steps(row.steps, parts[i], heads).contiguous());
  }
  for (const auto& [name, value] : ours)
    check(written.contains(name), "export: the model's '{}' has no name in {}", name, map.source);
  return result;
}

}  // namespace vitrine
