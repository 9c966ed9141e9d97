#include "vitrine/weights/load.h"

#include <torch/torch.h>

#include <cmath>
#include <map>
#include <set>

#include "vitrine/core/error.h"
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
    for (auto& [weight, value] : copies_) weight.copy_(value);
    return account;
  }

  Account account;

 private:
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
      note(there, name, there ? Fate::Skipped : Fate::Missing, "the model keeps its own");
    } else if (!there) {
      check(policy_.partial, "checkpoint: {} has no weight '{}'; it belongs to another model",
            origin_, name);
      note(there, name, Fate::Missing, "the model keeps its own");
    } else if (found->second.sizes() == weight.sizes()) {
      copies_.emplace_back(weight, found->second);
      note(there, name, Fate::Loaded, "");
    } else if (is_resizable(weight, found->second)) {
      const auto grid = *model_.token_grid();
      copies_.emplace_back(weight, resized_positions(found->second, grid.prefix, grid.rows,
                                                     grid.columns, policy_.positions));
      note(there, name, Fate::Resized,
           fmt::format("{} -> {}, {}", shape_text(found->second), shape_text(weight),
                       resize_name(policy_.positions)));
    } else {
      check(policy_.partial,
            "checkpoint: {}: weight '{}' is {}, the model's is {}; it belongs to another model or "
            "other settings",
            origin_, name, shape_text(found->second), shape_text(weight));
      note(there, name, Fate::Skipped,
           fmt::format("is {}, the model's is {}", shape_text(found->second), shape_text(weight)));
    }
  }

  /// Whether the weight is the model's table of positions and differs in their number alone.
  bool is_resizable(const torch::Tensor& weight, const torch::Tensor& stored) const {
    return policy_.positions != PositionResize::None && model_.token_grid() &&
           weight.is_same(model_.position_table()) && stored.dim() == 3 && stored.size(0) == 1 &&
           stored.size(2) == weight.size(2);
  }

  void refuse_unknown(const std::string& name) {
    const bool left_out = is_under(skip_, name);
    check(left_out || policy_.partial,
          "checkpoint: {}: weight '{}' is unknown to the model; it belongs to another model",
          origin_, name);
    account.notes.push_back(
        {.theirs = name,
         .ours = "",
         .fate = Fate::Skipped,
         .detail = left_out ? "the model keeps its own" : "the model has no such weight"});
  }

  void note(bool there, const std::string& name, Fate fate, std::string detail) {
    account.notes.push_back(
        {.theirs = there ? name : "", .ours = name, .fate = fate, .detail = std::move(detail)});
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

torch::Tensor resized_positions(const torch::Tensor& table, int64_t prefix, int64_t rows,
                                int64_t columns, PositionResize how) {
  check(table.dim() == 3 && table.size(0) == 1 && table.size(1) > prefix,
        "positions: a table of {} has no grid behind {} rows", shape_text(table), prefix);
  const int64_t tokens = table.size(1) - prefix;
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
  check(side * side == tokens,
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
