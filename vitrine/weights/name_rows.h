#pragma once

// The rows of a name map as a file or a model has them: in one spelling, without placeholders.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vitrine/weights/name_map.h"

namespace vitrine {

/// Whether a name has the form of a pattern with *.
bool matches(const std::string& pattern, const std::string& name);

/// The text with `by` wherever `what` stands.
std::string replaced(std::string text, const std::string& what, const std::string& by);

/// Whose names tensors have.
enum class NamedBy { Them, Us };

/// The rows without placeholders, and how many blocks and units of stages they are for.
struct ExpandedRows {
  std::vector<NameRow> rows;
  int64_t blocks = 0;
  std::vector<int64_t> units;
};

/// The rows that these tensors, named by them (after a prefix) or by us, are for; those outside the
/// blocks come first.
ExpandedRows expanded_rows(const NameMap& map, const NamedTensors& tensors, NamedBy by,
                           const std::string& prefix = "");

/// The map with one way of spelling: the first for which `is_way(pattern)` holds of a name, else
/// the first of all.
NameMap spelled(NameMap map, const std::function<bool(const std::string& pattern)>& is_way);

/// The first prefix with which the file has the signature; null if there is none.
const std::string* find_prefix(const NameMap& map, const TensorFile& file);

/// The rows of `count` matrices that a weight stacks: as the model says, else equal ones.
std::vector<int64_t> part_rows(const WeightShape& weight, size_t count);

using WeightsByName = std::map<std::string, const WeightShape*>;
WeightsByName by_name(const std::vector<WeightShape>& weights);

}  // namespace vitrine
