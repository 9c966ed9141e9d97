#include "vitrine/weights/name_map.h"

#include <fnmatch.h>
#include <torch/torch.h>

#include <charconv>
#include <numeric>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/weights/shape_text.h"
#include "vitrine/weights/steps.h"

namespace vitrine {
namespace {

constexpr char kBlock = 'i', kStage = 's', kUnit = 'u';  // "{i}", "{s}", "{u}"
constexpr int64_t kMaxBlocks = 4096;

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), /*flags=*/0) == 0;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// A name with every placeholder as a *.
std::string pattern_of(std::string name) {
  for (size_t begin = 0; (begin = name.find('{')) != name.npos;)
    name.replace(begin, name.find('}', begin) - begin + 1, "*");
  return name;
}

NameRow replaced(NameRow row, const std::string& what, const std::string& theirs,
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
           without_placeholders(replaced(row, placeholder.name, theirs, ours), placeholders))
        rows.push_back(more);
    return rows;
  }
  return {row};
}

/// "{s" of "{s}" and "{s+1}": where a number is written.
std::string number_mark(char letter) { return std::string("{") + letter; }

bool has_number(const NameRow& row, char letter) {
  return row.ours[0].find(number_mark(letter)) != std::string::npos;
}

std::vector<NameRow> numbered(std::vector<NameRow> rows, char letter, int64_t number) {
  const auto mark = number_mark(letter), next = std::to_string(number + 1);
  for (auto& row : rows) {
    row = replaced(std::move(row), mark + "}", std::to_string(number), std::to_string(number));
    row = replaced(std::move(row), mark + "+1}", next, next);
  }
  return rows;
}

/// Counts how often rows occur in tensors with their names (after a prefix) or with ours.
class Numbering {
 public:
  Numbering(const NamedTensors& tensors, std::string prefix, bool theirs)
      : tensors_(tensors), prefix_(std::move(prefix)), theirs_(theirs) {}

  /// How many numbers without a gap, from the first that a name can have, stand in the place of the
  /// letter in the first of these rows.
  int64_t count(const std::vector<NameRow>& rows, char letter) const {
    if (rows.empty()) return 0;
    const auto& name = theirs_ ? rows[0].theirs[0] : rows[0].ours[0];
    const auto at = name.find(number_mark(letter));
    const auto stem = prefix_ + name.substr(0, at);
    const int64_t first = name[at + 2] == '+' ? 1 : 0;
    std::set<int64_t> numbers;
    for (const auto& [known, tensor] : tensors_) {
      int64_t number = 0;
      if (known.starts_with(stem) &&
          std::from_chars(known.data() + stem.size(), known.data() + known.size(), number).ec ==
              std::errc())
        numbers.insert(number);
    }
    int64_t next = first;
    while (numbers.contains(next)) ++next;
    return next - first;
  }

 private:
  const NamedTensors& tensors_;
  std::string prefix_;
  bool theirs_;
};

/// The rows without placeholders, and how many blocks and units of stages they are for.
struct Expanded {
  std::vector<NameRow> rows;
  int64_t blocks = 0;
  std::vector<int64_t> units;
};

/// Rows outside the blocks come first.
Expanded expanded(const NameMap& map, const Numbering& numbering) {
  Expanded result;
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

/// The first prefix with which the file has the signature; null if there is none.
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

/// The map with one way of spelling: the first for which `is_way(pattern)` holds of a name, else
/// the first of all.
template <typename IsWay>
NameMap spelled(NameMap map, const IsWay& is_way) {
  const auto is_used = [&](const std::string& name, const std::string& way) {
    return std::any_of(map.rows.begin(), map.rows.end(), [&](const NameRow& row) {
      return std::any_of(row.theirs.begin(), row.theirs.end(), [&](const std::string& theirs) {
        return theirs.find(name) != theirs.npos && is_way(pattern_of(replaced(theirs, name, way)));
      });
    });
  };
  for (auto& [name, ways] : map.spellings) {
    const auto used = std::find_if(ways.begin(), ways.end(),
                                   [&](const std::string& way) { return is_used(name, way); });
    ways = {used != ways.end() ? *used : ways[0]};
    for (auto& row : map.rows) row = replaced(row, name, ways[0], name);
  }
  return map;
}

/// The first of many names.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min(kShown, names.size()));
  const auto more = names.size() - first.size();
  return fmt::format("'{}'{}", fmt::join(first, "', '"),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string detail_of(const NameRow& row) {
  std::vector<std::string> parts;
  for (const auto step : row.steps)
    if (*step_name(step) != '\0') parts.push_back(step_name(step));
  if (row.theirs.size() > 1) parts.push_back(fmt::format("one of {} stacked", row.theirs.size()));
  if (row.ours.size() > 1) parts.push_back(fmt::format("split into {}", row.ours.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The rows of `count` matrices that a weight stacks: as the model says, else equal ones.
std::vector<int64_t> part_rows(const WeightShape& weight, size_t count) {
  if (weight.stacked.size() == count) return weight.stacked;
  const auto parts = static_cast<int64_t>(count);
  check(!weight.shape.empty() && weight.shape[0] % parts == 0,
        "weights: '{}' of {} cannot be made of {} equal parts", weight.name,
        shape_text(weight.shape), parts);
  return std::vector<int64_t>(count, weight.shape[0] / parts);
}

using WeightsByName = std::map<std::string, const WeightShape*>;

WeightsByName by_name(const std::vector<WeightShape>& weights) {
  WeightsByName result;
  for (const auto& weight : weights) result[weight.name] = &weight;
  return result;
}

/// The shapes that the row's tensors of theirs must have once the steps are done, one by one.
std::vector<std::vector<int64_t>> wanted_shapes(const NameRow& row, const WeightsByName& weights,
                                                const std::string& origin) {
  std::vector<const WeightShape*> ours;
  for (const auto& name : row.ours) {
    const auto found = weights.find(name);
    check(
        found != weights.end(),
        "import: {}: the model has no weight '{}' for '{}'; leave out the setting that removed it",
        origin, name, row.theirs[0]);
    ours.push_back(found->second);
  }
  if (row.theirs.size() == 1) {
    auto shape = ours[0]->shape;
    for (size_t i = 1; i < ours.size(); ++i) shape[0] += ours[i]->shape[0];
    return {shape};
  }
  std::vector<std::vector<int64_t>> shapes;
  for (const int64_t rows : part_rows(*ours[0], row.theirs.size())) {
    shapes.push_back(ours[0]->shape);
    shapes.back()[0] = rows;
  }
  return shapes;
}

}  // namespace

bool recognises(const NameMap& map, const TensorFile& file) {
  return find_prefix(map, file) != nullptr;
}

MappedFile::MappedFile(const NameMap& map, const TensorFile& file, std::string origin)
    : origin_(std::move(origin)), index_(file.tensors.begin(), file.tensors.end()) {
  const auto* prefix = find_prefix(map, file);
  check(prefix != nullptr, "import: {} holds no '{}'; it is not {}", origin_,
        fmt::join(map.signature, "' and '"), map.source);
  prefix_ = *prefix;
  map_ = spelled(map, [&](const std::string& pattern) { return has_like(prefix_ + pattern); });
  refuse_other_models();
  auto all = expanded(map_, Numbering(file.tensors, prefix_, /*theirs=*/true));
  blocks_ = all.blocks;
  units_ = std::move(all.units);
  check(blocks_ <= kMaxBlocks, "import: {} holds {} blocks; no model has more than {}", origin_,
        blocks_, kMaxBlocks);
  rows_ = std::move(all.rows);
  for (auto& row : rows_)
    for (auto& name : row.theirs) name = prefix_ + name;
  drop_absent_rows();
  check_names();
}

bool MappedFile::has_like(const std::string& pattern) const {
  return std::any_of(index_.begin(), index_.end(),
                     [&](const auto& tensor) { return matches(pattern, tensor.first); });
}

bool MappedFile::provides(const std::string& ours) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const NameRow& row) {
    return std::find(row.ours.begin(), row.ours.end(), ours) != row.ours.end();
  });
}

const SkipRow* MappedFile::skip_of(const std::string& theirs) const {
  for (const auto& row : map_.skips)
    if (matches(row.pattern, theirs) && (row.beside.empty() || has_like(row.beside))) return &row;
  return nullptr;
}

void MappedFile::refuse_other_models() const {
  for (const auto& [pattern, reason, beside] : map_.refusals)
    for (const auto& [name, tensor] : index_)
      check(!matches(pattern, name), "import: {} holds '{}': {}", origin_, name, reason);
}

void MappedFile::drop_absent_rows() {
  const auto is_taken = [&](const std::string& name) {
    return (has(name) || (map_.preferred && has(map_.preferred(name)))) && !skip_of(name);
  };
  std::erase_if(rows_, [&](const NameRow& row) {
    if (!row.optional || std::any_of(row.theirs.begin(), row.theirs.end(), is_taken)) return false;
    absent_.insert(absent_.end(), row.ours.begin(), row.ours.end());
    return true;
  });
}

void MappedFile::check_names() {
  std::map<std::string, std::vector<TensorNote>> notes;
  const auto skip = [&](const std::string& name, const std::string& reason) {
    notes[name] = {{.theirs = name, .ours = "", .status = LoadStatus::Skipped, .detail = reason}};
  };
  for (const auto& [name, tensor] : index_) {
    if (!name.starts_with(map_.scope)) skip(name, "outside of '" + map_.scope + "'");
    if (const auto* row = skip_of(name)) skip(name, row->reason);
  }
  std::vector<std::string> missing, unknown;
  for (const auto& row : rows_)
    for (const auto& name : row.theirs) {
      const auto better = map_.preferred ? map_.preferred(name) : name;
      if (!has(name) && !has(better)) missing.push_back(name);
      if (better != name && has(name) && has(better))
        skip(name, "'" + better + "' is taken instead");
      const auto& taken = has(better) ? better : name;
      const auto detail = detail_of(row);
      for (const auto& ours : row.ours)
        notes[taken].push_back(
            {.theirs = taken,
             .ours = ours,
             .status = detail.empty() ? LoadStatus::Loaded : LoadStatus::Converted,
             .detail = detail});
    }
  for (const auto& [name, tensor] : index_) {
    const auto& known = notes[name];
    account_.notes.insert(account_.notes.end(), known.begin(), known.end());
    if (known.empty()) unknown.push_back(name);
  }
  check(missing.empty(), "import: {} lacks {}; is the file complete?", origin_, listed(missing));
  check(unknown.empty(), "import: {} holds {}, which the model has no place for", origin_,
        listed(unknown));
}

const torch::Tensor& MappedFile::stored(const std::string& theirs) const {
  const auto better = map_.preferred ? index_.find(map_.preferred(theirs)) : index_.end();
  return better != index_.end() ? better->second : index_.at(theirs);
}

int64_t MappedFile::their_size(const std::string& theirs, int64_t dimension) const {
  auto name = prefix_ + theirs;
  for (const auto& [part, ways] : map_.spellings) name = replaced(name, part, ways[0]);
  const auto& tensor = stored(name);
  check(tensor.dim() >= 2, "import: {}: '{}' is {}, expected a matrix", origin_, name,
        shape_text(tensor));
  return tensor.size(dimension);
}

std::vector<int64_t> MappedFile::our_shape(const std::string& ours, int64_t dimensions) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const NameRow& r) { return r.ours == Names(ours); });
  TORCH_INTERNAL_ASSERT(row != rows_.end(), "no row for ", ours);
  std::vector<int64_t> shape;
  for (const auto& name : row->theirs) {
    const auto part = with_steps(row->steps, stored(name), /*wanted=*/{});
    check(part.defined() && part.dim() == dimensions,
          "import: {}: '{}' is {}, which cannot be '{}' of {} dimensions", origin_, name,
          shape_text(stored(name)), ours, dimensions);
    if (shape.empty())
      shape = part.sizes().vec();
    else
      shape[0] += part.size(0);
  }
  return shape;
}

torch::Tensor MappedFile::part_of(const NameRow& row, size_t part,
                                  const std::vector<int64_t>& wanted) const {
  const auto& name = row.theirs[part];
  const auto& tensor = stored(name);
  const auto converted = with_steps(row.steps, tensor, wanted);
  const bool fits = converted.defined() && (has_step(row.steps, Step::Positions)
                                                ? converted.dim() == 3 && wanted.size() == 3 &&
                                                      converted.size(2) == wanted[2]
                                                : converted.sizes() == at::IntArrayRef(wanted));
  check(fits, "import: {}: '{}' is {}, the other weights ask for {}", origin_, name,
        shape_text(tensor), shape_text(their_shape(row.steps, tensor, wanted)));
  return converted;
}

TensorFile MappedFile::converted(const std::vector<WeightShape>& weights) const {
  const auto known = by_name(weights);
  TensorFile result;
  for (const auto& row : rows_) {
    const auto wanted = wanted_shapes(row, known, origin_);
    std::vector<torch::Tensor> parts;
    for (size_t part = 0; part < row.theirs.size(); ++part)
      parts.push_back(part_of(row, part, wanted[part]));
    const auto whole = parts.size() > 1 ? torch::cat(parts) : parts[0];
    int64_t begin = 0;
    for (const auto& name : row.ours) {
      const auto rows = row.ours.size() > 1 ? known.at(name)->shape[0] : 0;
      result.tensors.emplace_back(name, rows > 0 ? whole.narrow(0, begin, rows) : whole);
      begin += rows;
    }
  }
  return result;
}

NamedTensors exported(const NameMap& map, const NamedTensors& ours,
                      const std::vector<WeightShape>& weights, int64_t heads) {
  const auto known = by_name(weights);
  std::map<std::string, torch::Tensor> values(ours.begin(), ours.end());
  std::set<std::string> written;
  NamedTensors result;
  const auto first = spelled(map, [](const std::string&) { return true; });
  for (const auto& row : expanded(first, Numbering(ours, "", /*theirs=*/false)).rows) {
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
