#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"

namespace vitrine {

/// Named entries in the order they were added. Filled by one explicit list per kind of thing:
/// self-registering statics vanish from static libraries.
template <typename Entry>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  void add(std::string name, Entry entry) {
    check(find(name) == nullptr, "{} registry: '{}' is added twice", kind_, name);
    names_.push_back(name);
    entries_.emplace_back(std::move(name), std::move(entry));
  }

  /// The entry called `name`; an unknown name throws and prints the known ones.
  const Entry& get(std::string_view name) const {
    if (const Entry* entry = find(name)) return *entry;
    fail_usage("{} '{}' is not known{} (known: {})", kind_, name, did_you_mean(name, names_),
               fmt::join(names_, ", "));
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const std::vector<std::string>& names() const { return names_; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  const Entry* find(std::string_view name) const {
    for (const auto& [known, entry] : entries_)
      if (known == name) return &entry;
    return nullptr;
  }

  std::string kind_;
  std::vector<std::string> names_;
  std::vector<std::pair<std::string, Entry>> entries_;
};

}  // namespace vitrine
