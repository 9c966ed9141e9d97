#include "vitrine/train/freeze.h"

#include <torch/torch.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "vitrine/core/error.h"
#include "vitrine/models/backbone.h"
#include "vitrine/models/model.h"
#include "vitrine/train/config.h"

namespace vitrine {
namespace {

constexpr const char *kEmbed = "embed", *kBackbone = "backbone";

/// The number of blocks that `what` names; nothing if it is no number.
std::optional<int64_t> frozen_blocks(const std::string& what) {
  int64_t blocks = 0;
  const auto* end = what.data() + what.size();
  const auto [rest, error] = std::from_chars(what.data(), end, blocks);
  if (error != std::errc() || rest != end || blocks < 1) return std::nullopt;
  return blocks;
}

}  // namespace

std::vector<torch::Tensor> head_parameters(Model& model) {
  const bool training = model.is_training();
  model.eval();
  torch::Tensor features;
  {
    const torch::NoGradGuard no_grad;
    features = model.features(model.example_input(1));
  }
  model.logits(features).sum().backward();
  std::vector<torch::Tensor> head;
  for (auto& parameter : model.parameters())
    if (parameter.grad().defined()) {
      parameter.mutable_grad().reset();
      head.push_back(parameter);
    }
  model.train(training);
  return head;
}

void check_freeze(const std::string& what) {
  check(what == kNoFreeze || what == kFreezeModelBackbone || what == kEmbed || what == kBackbone ||
            frozen_blocks(what),
        "train: freeze is '{}'; choose {}, {}, {}, {} or a number of blocks, at least 1", what,
        kNoFreeze, kEmbed, kFreezeModelBackbone, kBackbone);
}

void freeze(Model& model, const std::string& what) {
  check_freeze(what);
  if (what == kNoFreeze) return;
  if (what == kFreezeModelBackbone) {
    const auto backbone = model.backbone();
    check(backbone != nullptr,
          "train: freeze {}, but the model has none; set model.backbone.kind, or train.freeze={}",
          what, kNoFreeze);
    for (auto& parameter : backbone->parameters()) parameter.set_requires_grad(false);
    return;
  }
  if (what == kBackbone) {
    const auto head = head_parameters(model);
    check(!head.empty(), "train: freeze {} leaves nothing to learn: {} has no head", what,
          model.name());
    for (auto& p : model.parameter_info())
      if (std::none_of(head.begin(), head.end(),
                       [&](const auto& part) { return part.is_same(p.tensor); }))
        p.tensor.set_requires_grad(false);
    return;
  }
  const auto all = std::ssize(model.blocks_in_order());
  const auto blocks = frozen_blocks(what).value_or(0);  // 0 = embed
  check(all > 0, "train: freeze {} counts blocks, and this model has none; set train.freeze={}",
        what, kBackbone);
  check(blocks <= all,
        "train: freeze {} is more than the {} of the model; set train.freeze={} at most", blocks,
        counted(all, "block"), all);
  for (auto& p : model.parameter_info())
    if (p.depth <= blocks) p.tensor.set_requires_grad(false);
}

void set_training_mode(Model& model) {
  model.train();
  for (const auto& layer : model.modules(/*include_self=*/false))
    if (auto* norm = layer->as<torch::nn::BatchNorm2d>();
        norm != nullptr && norm->weight.defined() && !norm->weight.requires_grad())
      norm->eval();
}

}  // namespace vitrine
