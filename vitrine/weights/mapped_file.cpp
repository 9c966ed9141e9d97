#include "vitrine/weights/mapped_file.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/weights/name_rows.h"
#include "vitrine/weights/shape_text.h"
#include "vitrine/weights/steps.h"

namespace vitrine {
namespace {

constexpr int64_t kMaxBlocks = 4096;

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

MappedFile::MappedFile(const NameMap& map, const TensorFile& file, std::string origin)
    : origin_(std::move(origin)), index_(file.tensors.begin(), file.tensors.end()) {
  const auto* prefix = find_prefix(map, file);
  check(prefix != nullptr, "import: {} holds no '{}'; it is not {}", origin_,
        fmt::join(map.signature, "' and '"), map.source);
  prefix_ = *prefix;
  map_ = spelled(map, [&](const std::string& pattern) { return has_like(prefix_ + pattern); });
  refuse_other_models();
  auto all = expanded_rows(map_, file.tensors, NamedBy::Them, prefix_);
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

}  // namespace vitrine
