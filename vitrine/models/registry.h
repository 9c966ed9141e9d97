#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/choice.h"
#include "vitrine/core/registry.h"

namespace vitrine {

class Model;

/// A model's config with its type hidden: it can be read, changed, stored and built.
class ModelBlueprint {
 public:
  static constexpr const char *kKey = "model", *kList = "vitrine models";
  /// A copy of what the registry has under `name`.
  static std::unique_ptr<ModelBlueprint> make(const std::string& name);

  virtual ~ModelBlueprint() = default;
  virtual void visit(Fields& f) = 0;
  virtual std::unique_ptr<ModelBlueprint> clone() const = 0;
  /// Validates the config, then makes the model with random weights (`torch::manual_seed`).
  virtual std::shared_ptr<Model> build() const = 0;
  virtual void validate() const = 0;
};

struct ModelEntry {
  std::string description;
  std::string alias_of;  // "" for a name of its own
  std::shared_ptr<const ModelBlueprint> blueprint;
};

/// Every model the tools can name. Adding a model ends with one line in registry.cpp.
const Registry<ModelEntry>& models();

/// The `model:` part of a recipe: a name and what differs from that variant.
class ModelChoice : public Choice<ModelBlueprint> {
 public:
  using Choice::Choice;
  std::shared_ptr<Model> build() const;
};

/// The model of YAML such as "name: vit_ti16", with settings such as "depth=2" on top. What it
/// refuses is a `UsageError`, which calls its place `where`.
ModelChoice read_model(const std::string& yaml, const std::vector<std::string>& settings,
                       const std::string& where);

}  // namespace vitrine
