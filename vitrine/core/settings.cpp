#include "vitrine/core/settings.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/core/nearest.h"

namespace vitrine {

struct Settings::Tree {
  YAML::Node root;
  std::string origin;
  std::set<std::string> overridden;  // dotted paths set from the command line

  std::string where(const std::string& path, const YAML::Node& node) const {
    if (overridden.count(path)) return "command line";
    if (!node.IsDefined()) return origin;
    const auto mark = node.Mark();
    return mark.is_null() ? origin : fmt::format("{}:{}", origin, mark.line + 1);
  }
};

namespace {

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

std::string scalar_text(const YAML::Node& node) {
  if (!node.IsDefined()) return "";
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out << YAML::Flow << node;
  return out.c_str();
}

}  // namespace

/// Fills fields from a tree and remembers which keys were asked for.
class SettingsReader : public Fields {
 public:
  SettingsReader(YAML::Node root, std::function<std::string(const std::string&, YAML::Node)> where)
      : where_(std::move(where)) {
    open_.push_back({"", std::move(root), {}});
  }

  void operator()(std::string_view name, bool& value, std::string_view) override {
    read(name, value, "true or false");
  }
  void operator()(std::string_view name, int64_t& value, std::string_view) override {
    read(name, value, "a whole number");
  }
  void operator()(std::string_view name, double& value, std::string_view) override {
    read(name, value, "a number");
  }
  void operator()(std::string_view name, std::string& value, std::string_view) override {
    read(name, value, "text");
  }
  void operator()(std::string_view name, std::vector<double>& value, std::string_view) override {
    read(name, value, "a list of numbers");
  }
  void operator()(std::string_view name, std::vector<int64_t>& value, std::string_view) override {
    read(name, value, "a list of whole numbers");
  }

  void one_of(std::string_view name, std::string& value, const std::vector<std::string>& choices,
              std::string_view) override {
    read(name, value, "one of " + fmt::format("{}", fmt::join(choices, ", ")));
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
    const auto node = find(name);
    const auto path = joined(open_.back().path, name);
    fail("{}: {} is '{}'{} (one of {})", where_(path, node), path, value,
         did_you_mean(value, choices), fmt::join(choices, ", "));
  }

  void begin_group(std::string_view name, std::string_view) override {
    open_.back().asked.emplace_back(name);
    const auto path = joined(open_.back().path, name);
    const auto node = find(name);
    const bool given = node.IsDefined() && !node.IsNull();
    check(!given || node.IsMap(), "{}: {} is '{}', expected a group of keys", where_(path, node),
          path, scalar_text(node));
    open_.push_back({path, given ? node : YAML::Node(YAML::NodeType::Map), {}});
  }

  void end_group() override {
    const auto& group = open_.back();
    if (group.node.IsMap()) {
      for (const auto& item : group.node) {
        const auto key = item.first.as<std::string>();
        if (std::find(group.asked.begin(), group.asked.end(), key) != group.asked.end()) continue;
        const auto path = joined(group.path, key);
        fail("{}: unknown key '{}'{} (known here: {})", where_(path, item.first), path,
             did_you_mean(key, group.asked), fmt::join(group.asked, ", "));
      }
    }
    open_.pop_back();
  }

 private:
  struct Group {
    std::string path;
    YAML::Node node;
    std::vector<std::string> asked;
  };

  YAML::Node find(std::string_view name) const {
    const YAML::Node& here = open_.back().node;
    return here.IsMap() ? here[std::string(name)] : YAML::Node(YAML::NodeType::Undefined);
  }

  template <typename T>
  void read(std::string_view name, T& value, std::string_view expected) {
    open_.back().asked.emplace_back(name);
    const auto node = find(name);
    if (!node.IsDefined() || node.IsNull()) return;  // "key:" without a value keeps the default
    try {
      value = node.as<T>();
    } catch (const YAML::Exception&) {
      const auto path = joined(open_.back().path, name);
      fail("{}: {} is '{}', expected {}", where_(path, node), path, scalar_text(node), expected);
    }
  }

  std::function<std::string(const std::string&, YAML::Node)> where_;
  std::vector<Group> open_;
};

Settings Settings::from_file(const std::string& path) { return from_text(read_file(path), path); }

Settings Settings::from_text(const std::string& text, std::string origin) {
  Settings settings;
  settings.tree_ = std::make_shared<Tree>();
  try {
    settings.tree_->root = YAML::Load(text);
  } catch (const YAML::Exception& e) {
    fail("{}:{}: not valid YAML: {}", origin, e.mark.line + 1, e.msg);
  }
  auto& root = settings.tree_->root;
  if (!root.IsDefined() || root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
  check(root.IsMap(), "{}: expected 'key: value' lines at the top", origin);
  settings.tree_->origin = std::move(origin);
  return settings;
}

void Settings::override_with(const std::string& assignment) {
  const auto equals = assignment.find('=');
  check(equals != std::string::npos && equals > 0,
        "command line: '{}' is not of the form key.path=value", assignment);
  const auto path = assignment.substr(0, equals);
  YAML::Node value;
  try {
    value = YAML::Load(assignment.substr(equals + 1));
  } catch (const YAML::Exception& e) {
    fail("command line: the value of '{}' is not valid: {}", assignment, e.msg);
  }
  if (value.IsNull()) value = YAML::Node("");

  YAML::Node here = tree_->root;
  std::istringstream keys(path);
  std::string key, next, walked;
  std::getline(keys, key, '.');
  while (std::getline(keys, next, '.')) {
    walked = joined(walked, key);
    tree_->overridden.insert(walked);
    YAML::Node child = here[key];
    if (!child.IsDefined() || child.IsNull()) {
      here[key] = YAML::Node(YAML::NodeType::Map);
      child = here[key];
    }
    check(child.IsMap(), "command line: '{}': {} is a value, not a group of keys", assignment, key);
    here.reset(child);
    key = next;
  }
  here[key] = value;
  tree_->overridden.insert(path);
}

std::unique_ptr<Fields> Settings::make_reader() const {
  const auto tree = tree_;
  return std::make_unique<SettingsReader>(
      tree->root,
      [tree](const std::string& path, const YAML::Node& node) { return tree->where(path, node); });
}

void Settings::finish(Fields& reader) { static_cast<SettingsReader&>(reader).end_group(); }

}  // namespace vitrine
