#include "vitrine/weights/load.h"

#include <torch/torch.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/formats/mapped_tensor.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/shape_text.h"

namespace vitrine {
namespace {

bool is_under(const std::vector<std::string>& prefixes, const std::string& name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const auto& prefix) { return name.starts_with(prefix); });
}

const char* resize_name(PositionResize how) {
  switch (how) {
    case PositionResize::Bilinear:
      return "bilinear";
    case PositionResize::Bicubic:
      return "bicubic";
    case PositionResize::BicubicAntialias:
      return "bicubic with antialias";
    case PositionResize::None:
      break;
  }
  return "";
}

/// The side of a square grid of so many tokens; 0 if there is none.
int64_t square_side(int64_t tokens) {
  const auto side = std::llround(std::sqrt(static_cast<double>(std::max<int64_t>(tokens, 0))));
  return side * side == tokens ? side : 0;
}

/// The rows before the grid (class token and the like) of two tables of positions: the fewest with
/// which both hold square grids; nothing if there are none.
std::optional<int64_t> common_prefix(int64_t one, int64_t other) {
  constexpr int64_t kMax = 16;
  for (int64_t prefix = 0; prefix <= kMax; ++prefix)
    if (square_side(one - prefix) > 0 && square_side(other - prefix) > 0) return prefix;
  return std::nullopt;
}

/// What goes where, found before anything is copied.
class LoadPlan {
 public:
  LoadPlan(const Model& model, const TensorFile& file, const std::string& origin,
           const LoadPolicy& policy, const std::string& prefix)
      : model_(model), origin_(origin), policy_(policy) {
    for (const auto& [name, tensor] : file.tensors)
      if (name.starts_with(prefix)) stored_.emplace(name.substr(prefix.size()), tensor);
    const auto weights = named_weights(model);
    skip_ = policy.skip;
    for (const auto& group : policy.skip_unfitting)
      if (!fits(group, weights)) skip_.push_back(group);
    std::set<std::string> known;
    for (const auto& [name, weight] : weights) {
      known.insert(name);
      plan(name, weight);
    }
    for (const auto& [name, tensor] : stored_)
      if (!known.contains(name)) refuse_unknown(name);
  }

  Account run() {
    const torch::NoGradGuard no_grad;
    for (auto& [weight, value] : copies_) {
      if (policy_.memory == FileMemory::Borrow && can_stand_for(value, weight)) {
        weight.set_data(value);
        continue;
      }
      weight.copy_(value);
      if (policy_.memory != FileMemory::Keep) give_back(value);
    }
    return account;
  }

  Account account;

 private:
  /// Whether a tensor of the file can be the model's parameter as it lies.
  static bool can_stand_for(const torch::Tensor& value, const torch::Tensor& weight) {
    return weight.is_leaf() && weight.device().is_cpu() && is_mapped(value) &&
           value.is_contiguous() && value.scalar_type() == weight.scalar_type();
  }

  bool fits(const std::string& group, const NamedTensors& weights) const {
    return std::all_of(weights.begin(), weights.end(), [&](const auto& named) {
      if (!named.first.starts_with(group)) return true;
      const auto found = stored_.find(named.first);
      return found != stored_.end() && found->second.sizes() == named.second.sizes();
    });
  }

  void plan(const std::string& name, const torch::Tensor& weight) {
    const auto found = stored_.find(name);
    const bool there = found != stored_.end();
    if (is_under(skip_, name)) {
      note(there, name, there ? LoadStatus::Skipped : LoadStatus::Missing,
           "the model keeps its own");
    } else if (!there) {
      check(policy_.partial, "checkpoint: {} has no weight '{}'; it belongs to another model",
            origin_, name);
      note(there, name, LoadStatus::Missing, "the model keeps its own");
    } else if (found->second.sizes() == weight.sizes()) {
      copies_.emplace_back(weight, found->second);
      note(there, name, LoadStatus::Loaded, "");
    } else if (is_resizable(weight, found->second)) {
      const auto prefix = *common_prefix(found->second.size(1), weight.size(1));
      const auto side = square_side(weight.size(1) - prefix);
      copies_.emplace_back(weight,
                           resized_positions(found->second, prefix, side, side, policy_.positions));
      note(there, name, LoadStatus::Resized,
           fmt::format("{} -> {}, {}", shape_text(found->second), shape_text(weight),
                       resize_name(policy_.positions)));
    } else {
      check(policy_.partial,
            "checkpoint: {}: weight '{}' is {}, the model's is {}; it belongs to another model or "
            "other settings",
            origin_, name, shape_text(found->second), shape_text(weight));
      note(there, name, LoadStatus::Skipped,
           fmt::format("is {}, the model's is {}", shape_text(found->second), shape_text(weight)));
    }
  }

  /// Whether the weight is a table of positions and differs in their number alone.
  bool is_resizable(const torch::Tensor& weight, const torch::Tensor& stored) const {
    const auto tables = model_.position_tables();
    return policy_.positions != PositionResize::None &&
           std::any_of(tables.begin(), tables.end(),
                       [&](const auto& table) { return weight.is_same(table); }) &&
           stored.dim() == 3 && stored.size(0) == 1 && stored.size(2) == weight.size(2) &&
           common_prefix(stored.size(1), weight.size(1));
  }

  void refuse_unknown(const std::string& name) {
    const bool left_out = is_under(skip_, name);
    check(left_out || policy_.partial,
          "checkpoint: {}: weight '{}' is unknown to the model; it belongs to another model",
          origin_, name);
    account.notes.push_back(
        {.theirs = name,
         .ours = "",
         .status = LoadStatus::Skipped,
         .detail = left_out ? "the model keeps its own" : "the model has no such weight"});
  }

  void note(bool there, const std::string& name, LoadStatus status, std::string detail) {
    account.notes.push_back(
        {.theirs = there ? name : "", .ours = name, .status = status, .detail = std::move(detail)});
  }

  const Model& model_;
  const std::string& origin_;
  const LoadPolicy& policy_;
  std::map<std::string, torch::Tensor> stored_;
  std::vector<std::string> skip_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies_;  // weight, value
};

}  // namespace

NamedTensors named_weights(const Model& model) {
  NamedTensors result;
  for (const auto& item : model.named_parameters()) result.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) result.emplace_back(item.key(), item.value());
  return result;
}

Account load_weights(Model& model, const TensorFile& file, const std::string& origin,
                     const LoadPolicy& policy, const std::string& prefix) {
  return LoadPlan(model, file, origin, policy, prefix).run();
}

Account check_weights(const Model& model, const TensorFile& file, const std::string& origin,
                      const LoadPolicy& policy, const std::string& prefix) {
  return LoadPlan(model, file, origin, policy, prefix).account;
}

void own_weights(Model& model) {
  for (auto& [name, weight] : named_weights(model)) {
    if (!is_mapped(weight)) continue;
    const auto borrowed = weight.detach();
    weight.set_data(borrowed.clone());
    give_back(borrowed);
  }
}

torch::Tensor resized_positions(const torch::Tensor& table, int64_t prefix, int64_t rows,
                                int64_t columns, PositionResize how) {
  check(table.dim() == 3 && table.size(0) == 1 && table.size(1) > prefix,
        "positions: a table of {} has no grid behind {} rows", shape_text(table), prefix);
  const int64_t tokens = table.size(1) - prefix;
  const auto side = square_side(tokens);
  check(side > 0,
        "positions: a table of {} holds {} positions behind {} rows, which are no square grid",
        shape_text(table), tokens, prefix);
  const auto grid = table.narrow(1, prefix, tokens)
                        .to(torch::kFloat)
                        .view({1, side, side, table.size(2)})
                        .permute({0, 3, 1, 2})
                        .contiguous();  // (1, C, S, S)
  torch::Tensor resized;                // (1, C, rows, columns)
  switch (how) {
    case PositionResize::Bilinear:
      resized = at::upsample_bilinear2d(grid, {rows, columns}, /*align_corners=*/false);
      break;
    case PositionResize::Bicubic:
      resized = at::upsample_bicubic2d(grid, {rows, columns}, /*align_corners=*/false);
      break;
    case PositionResize::BicubicAntialias:
      resized = at::_upsample_bicubic2d_aa(grid, {rows, columns}, /*align_corners=*/false);
      break;
    case PositionResize::None:
      fail("positions: a table of {} does not fit a grid of {} x {}", shape_text(table), rows,
           columns);
  }
  const auto kept = table.narrow(1, 0, prefix).to(torch::kFloat);
  return torch::cat({kept, resized.flatten(2).transpose(1, 2)}, 1);  // (1, prefix + R * L, C)
}

}  // namespace vitrine
