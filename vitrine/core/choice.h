#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/core/fields.h"
#include "vitrine/core/settings.h"

namespace vitrine {

/// A part of a recipe that names an entry of a registry and changes some of its settings: `model`,
/// `data.dataset`. A `Blueprint` is such an entry's config with its type hidden. It has
/// `visit(Fields&)`, `clone()`, a static `make(name)` that copies the registry's, and says as
/// `kKey` and `kList` where a recipe names it and which command lists the names.
template <typename Blueprint>
class Choice {
 public:
  /// Nothing is chosen yet.
  Choice() = default;
  explicit Choice(const std::string& name) { choose(name); }
  Choice(const Choice& other)
      : name_(other.name_), chosen_(other.chosen_ ? other.chosen_->clone() : nullptr) {}
  Choice(Choice&& other) noexcept = default;
  Choice& operator=(Choice other) noexcept {
    name_.swap(other.name_);
    chosen_.swap(other.chosen_);
    return *this;
  }
  ~Choice() = default;

  /// Takes the entry called `name` with the settings it has in the registry.
  void choose(const std::string& name) {
    chosen_ = Blueprint::make(name);
    name_ = name;
  }

  /// The name, then the settings of what it names.
  void visit(Fields& f) {
    auto name = name_;
    f("name", name, fmt::format("a name of `{}`", Blueprint::kList));
    check_usage(!name.empty(), "recipe: {}.name is missing; choose one of `{}`", Blueprint::kKey,
                Blueprint::kList);
    if (name != name_) choose(name);
    chosen_->visit(f);
  }
  /// The settings without the name.
  void visit_settings(Fields& f) { chosen_->visit(f); }

  const std::string& name() const { return name_; }
  const Blueprint* operator->() const { return chosen_.get(); }

 private:
  std::string name_;
  std::unique_ptr<Blueprint> chosen_;
};

/// The choice that YAML such as "name: vit_ti16" makes, with settings such as "depth=2" on top;
/// errors call its place `where`.
template <typename AnyChoice>
AnyChoice read_choice(const std::string& yaml, const std::vector<std::string>& settings,
                      const std::string& where) {
  auto all = Settings::from_text(yaml, where);
  for (const auto& assignment : settings) all.override_with(assignment);
  AnyChoice choice;
  all.read_into(choice);
  return choice;
}

}  // namespace vitrine
