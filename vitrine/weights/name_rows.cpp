#include "vitrine/weights/name_rows.h"

#include <fnmatch.h>
#include <torch/torch.h>

#include <charconv>
#include <optional>
#include <regex>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/weights/shape_text.h"

namespace vitrine {
namespace {

constexpr char kBlock = 'i', kStage = 's', kUnit = 'u';  // "{i}", "{s}", "{u}"

/// A name with every placeholder as a *.
std::string pattern_of(std::string name) {
  for (size_t begin = 0; (begin = name.find('{')) != name.npos;)
    name.replace(begin, name.find('}', begin) - begin + 1, "*");
  return name;
}

NameRow row_with(NameRow row, const std::string& what, const std::string& theirs,
                 const std::string& ours) {
  for (auto& name : row.theirs) name = replaced(name, what, theirs);
  for (auto& name : row.ours) name = replaced(name, what, ours);
  return row;
}

/// The row once for each value of the placeholders in it.
std::vector<NameRow> without_placeholders(const NameRow& row,
                                          const std::vector<Placeholder>& placeholders) {
  for (const auto& placeholder : placeholders) {
    if (row.ours[0].find(placeholder.name) == std::string::npos) continue;
    std::vector<NameRow> rows;
    for (const auto& [theirs, ours] : placeholder.values)
      for (const auto& more :
           without_placeholders(row_with(row, placeholder.name, theirs, ours), placeholders))
        rows.push_back(more);
    return rows;
  }
  return {row};
}

/// Where a name has the number of a block, stage or unit: "{s}", "{s+1}", "{2s+1}".
struct NumberMark {
  size_t begin = 0, length = 0;  // in the name
  int64_t factor = 1, offset = 0;

  int64_t written(int64_t number) const { return factor * number + offset; }
};

std::optional<NumberMark> find_mark(const std::string& name, char letter) {
  static const std::regex pattern(R"(\{([1-9]?)([isu])(?:\+([1-9]))?\})");
  for (std::sregex_iterator found(name.begin(), name.end(), pattern), end; found != end; ++found) {
    const auto& match = *found;
    if (match.str(2)[0] != letter) continue;
    const auto digit = [&](size_t group, int64_t otherwise) {
      return match.length(group) > 0 ? std::stoll(match.str(group)) : otherwise;
    };
    return NumberMark{.begin = static_cast<size_t>(match.position()),
                      .length = static_cast<size_t>(match.length()),
                      .factor = digit(1, 1),
                      .offset = digit(3, 0)};
  }
  return std::nullopt;
}

bool has_number(const NameRow& row, char letter) {
  return find_mark(row.ours[0], letter).has_value();
}

std::vector<NameRow> numbered(std::vector<NameRow> rows, char letter, int64_t number) {
  const auto write = [&](Names& names) {
    for (auto& name : names)
      while (const auto mark = find_mark(name, letter))
        name.replace(mark->begin, mark->length, std::to_string(mark->written(number)));
  };
  for (auto& row : rows) {
    write(row.theirs);
    write(row.ours);
  }
  return rows;
}

/// Counts how often rows occur in tensors with their names (after a prefix) or with ours.
class Numbering {
 public:
  Numbering(const NamedTensors& tensors, NamedBy by, std::string prefix)
      : tensors_(tensors), by_(by), prefix_(std::move(prefix)) {}

  /// How many numbers without a gap, from the first that a name can have, stand in the place of the
  /// letter in the first of these rows.
  int64_t count(const std::vector<NameRow>& rows, char letter) const {
    if (rows.empty()) return 0;
    const auto& name = by_ == NamedBy::Them ? rows[0].theirs[0] : rows[0].ours[0];
    const auto mark = find_mark(name, letter);
    TORCH_INTERNAL_ASSERT(mark.has_value(), "no number in ", name);
    const auto stem = prefix_ + name.substr(0, mark->begin);
    std::set<int64_t> numbers;
    for (const auto& [known, tensor] : tensors_) {
      int64_t number = 0;
      if (known.starts_with(stem) &&
          std::from_chars(known.data() + stem.size(), known.data() + known.size(), number).ec ==
              std::errc())
        numbers.insert(number);
    }
    int64_t count = 0;
    while (numbers.contains(mark->written(count))) ++count;
    return count;
  }

 private:
  const NamedTensors& tensors_;
  NamedBy by_;
  std::string prefix_;
};

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), /*flags=*/0) == 0;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

ExpandedRows expanded_rows(const NameMap& map, const NamedTensors& tensors, NamedBy by,
                           const std::string& prefix) {
  const Numbering numbering(tensors, by, prefix);
  ExpandedRows result;
  const auto append = [&](const std::vector<NameRow>& more) {
    result.rows.insert(result.rows.end(), more.begin(), more.end());
  };
  std::vector<NameRow> stages, blocks;
  for (const auto& row : map.rows)
    for (const auto& plain : without_placeholders(row, map.placeholders))
      (has_number(plain, kStage)   ? stages
       : has_number(plain, kBlock) ? blocks
                                   : result.rows)
          .push_back(plain);
  const auto stage_count = numbering.count(stages, kStage);
  for (int64_t s = 0; s < stage_count; ++s) {
    std::vector<NameRow> units;
    for (const auto& row : numbered(stages, kStage, s))
      (has_number(row, kUnit) ? units : result.rows).push_back(row);
    result.units.push_back(numbering.count(units, kUnit));
    for (int64_t u = 0; u < result.units.back(); ++u) append(numbered(units, kUnit, u));
  }
  result.blocks = numbering.count(blocks, kBlock);
  for (int64_t i = 0; i < result.blocks; ++i) append(numbered(blocks, kBlock, i));
  return result;
}

NameMap spelled(NameMap map, const std::function<bool(const std::string& pattern)>& is_way) {
  const auto is_used = [&](const std::string& name, const std::string& way) {
    return std::any_of(map.rows.begin(), map.rows.end(), [&](const NameRow& row) {
      return std::any_of(row.theirs.begin(), row.theirs.end(), [&](const std::string& theirs) {
        return theirs.find(name) != theirs.npos && is_way(pattern_of(replaced(theirs, name, way)));
      });
    });
  };
  for (auto& [name, ways] : map.spellings) {
    const auto used =
        std::find_if(ways.begin(), ways.end(),
                     [&, &name = name](const std::string& way) { return is_used(name, way); });
    ways = {used != ways.end() ? *used : ways[0]};
    for (auto& row : map.rows) row = row_with(row, name, ways[0], name);
  }
  return map;
}

const std::string* find_prefix(const NameMap& map, const TensorFile& file) {
  for (const auto& prefix : map.prefixes) {
    const bool fits =
        std::all_of(map.signature.begin(), map.signature.end(), [&](const std::string& pattern) {
          return std::any_of(file.tensors.begin(), file.tensors.end(), [&](const auto& tensor) {
            return matches(prefix + pattern, tensor.first);
          });
        });
    if (fits) return &prefix;
  }
  return nullptr;
}

std::vector<int64_t> part_rows(const WeightShape& weight, size_t count) {
  if (weight.stacked.size() == count) return weight.stacked;
  const auto parts = static_cast<int64_t>(count);
  check(!weight.shape.empty() && weight.shape[0] % parts == 0,
        "weights: '{}' of {} cannot be made of {} equal parts", weight.name,
        shape_text(weight.shape), parts);
  return std::vector<int64_t>(count, weight.shape[0] / parts);
}

WeightsByName by_name(const std::vector<WeightShape>& weights) {
  WeightsByName result;
  for (const auto& weight : weights) result[weight.name] = &weight;
  return result;
}

}  // namespace vitrine
