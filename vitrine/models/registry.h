#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/fields.h"
#include "vitrine/core/registry.h"

namespace vitrine {

class Model;

/// A model's config with its type hidden: it can be read, changed, stored and built.
class ModelBlueprint {
 public:
  virtual ~ModelBlueprint() = default;
  virtual void visit(Fields& f) = 0;
  virtual std::unique_ptr<ModelBlueprint> clone() const = 0;
  /// Validates the config, then makes the model with random weights (`torch::manual_seed`).
  virtual std::shared_ptr<Model> build() const = 0;
};

struct ModelEntry {
  std::string description;
  std::string alias_of;  // "" for a name of its own
  std::shared_ptr<const ModelBlueprint> blueprint;
};

/// Every model the tools can name. Adding a model ends with one line in registry.cpp.
const Registry<ModelEntry>& models();

/// The `model:` part of a recipe: a name and what differs from that variant.
class ModelChoice {
 public:
  ModelChoice() = default;
  explicit ModelChoice(const std::string& name) { choose(name); }
  ModelChoice(const ModelChoice& other);
  ModelChoice& operator=(const ModelChoice& other);

  void choose(const std::string& name);
  void visit(Fields& f);
  const std::string& name() const { return name_; }
  std::shared_ptr<Model> build() const;

 private:
  std::string name_;
  std::unique_ptr<ModelBlueprint> blueprint_;
};

/// The model of YAML such as "name: vit_ti16", with settings such as "depth=2" on top; errors call
/// its place `where`.
ModelChoice read_model(const std::string& yaml, const std::vector<std::string>& settings,
                       const std::string& where);

}  // namespace vitrine
