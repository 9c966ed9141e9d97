#include "vitrine/train/init_backbone.h"

#include <torch/torch.h>

#include <set>
#include <sstream>

#include "vitrine/core/error.h"
#include "vitrine/models/backbone.h"
#include "vitrine/models/model.h"
#include "vitrine/train/init_preprocess.h"

namespace vitrine {
namespace {

/// Where the weights of a model's backbone stand: "patch_embed.backbone.".
std::string backbone_prefix(const Model& model, const std::string& path) {
  const auto backbone = model.backbone();
  check(backbone != nullptr,
        "train: init_backbone {} is for a hybrid, and the model has no backbone; leave out "
        "model.backbone.kind",
        path);
  std::string prefix;
  for (const auto& item : model.named_modules(/*name_prefix=*/"", /*include_self=*/false))
    if (item.value() == backbone) prefix = item.key() + ".";
  TORCH_INTERNAL_ASSERT(!prefix.empty(), "the backbone is not registered");
  return prefix;
}

}  // namespace

InitBackbone::InitBackbone(std::string path)
    : path_(std::move(path)), loaded_(load_checkpoint(path_)) {
  check_usage(loaded_.model->as_backbone().has_value(),
              "recipe: init_backbone {} holds a '{}', which cannot be a backbone; choose a ResNet",
              path_, loaded_.info.model.name());
}

Recipe InitBackbone::defaults(const std::string& model) const {
  auto yaml = fmt::format("name: {}\nbackbone:\n", model);
  std::istringstream settings(to_yaml(*loaded_.model->as_backbone()));
  for (std::string line; std::getline(settings, line);) yaml += "  " + line + "\n";
  Recipe recipe;
  recipe.model = read_choice<ModelChoice>(
      yaml, {}, fmt::format("init_backbone {} for {}", path_, model));  // not yet complete
  if (const auto& theirs = loaded_.info.preprocess) adopt_preprocess(recipe, *theirs);
  return recipe;
}

void InitBackbone::complete(Recipe& recipe) const {
  if (const auto& theirs = loaded_.info.preprocess)
    complete_preprocess(recipe, *theirs, "init_backbone " + path_);
}

std::string InitBackbone::load_into(Model& model) const {
  const auto prefix = backbone_prefix(model, path_);
  TensorFile file;
  for (const auto& [name, weight] : named_weights(*loaded_.model))
    file.tensors.emplace_back(prefix + name, weight);
  std::set<std::string> left_out;  // layer4, fc, ...
  const LoadPolicy policy{.partial = true};
  for (const auto& note : check_weights(model, file, path_, policy).notes) {
    check(!note.ours.starts_with(prefix) || note.status == LoadStatus::Loaded,
          "train: init_backbone {} does not fit the backbone: {} {}; leave out what model.backbone "
          "says but for its blocks",
          path_, note.ours, note.theirs.empty() ? "is missing in it" : note.detail);
    if (note.ours.empty())
      left_out.insert(
          note.theirs.substr(prefix.size(), note.theirs.find('.', prefix.size()) - prefix.size()));
  }
  const auto account = load_weights(model, file, path_, policy);
  auto text = fmt::format("init_backbone {} ({}): {} loaded", path_, loaded_.info.model.name(),
                          counted(account.count(LoadStatus::Loaded), "tensor"));
  if (!left_out.empty())
    text += fmt::format("; {} skipped, which the backbone does not have ({})",
                        account.count(LoadStatus::Skipped), fmt::join(left_out, ", "));
  return text;
}

std::vector<std::string> InitBackbone::notes(const Recipe& recipe) const {
  const auto& theirs = loaded_.info.preprocess;
  return theirs ? preprocess_notes(recipe, *theirs) : std::vector<std::string>();
}

}  // namespace vitrine
