#include "vitrine/core/settings.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/core/nearest.h"

namespace vitrine {

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

std::string place(const std::string& origin, const YAML::Node& node) {
  return node.Mark().is_null() ? origin : fmt::format("{}:{}", origin, node.Mark().line + 1);
}

/// Throws unless every key is a word that its group has once. Aliases can make a small text an
/// endless tree, so the walk is bounded.
class KeyCheck {
 public:
  explicit KeyCheck(const std::string& origin) : origin_(origin) {}

  void operator()(const YAML::Node& node, int depth = 0) {
    constexpr int kDeepest = 64;
    constexpr int64_t kMaxNodes = 100'000;
    check_usage(depth <= kDeepest && ++nodes_ <= kMaxNodes, "{}: the groups are nested too deeply",
                place(origin_, node));
    if (node.IsSequence())
      for (const auto& item : node) (*this)(item, depth + 1);
    if (!node.IsMap()) return;
    std::map<std::string, YAML::Node> seen;
    for (const auto& item : node) {
      const auto& key = item.first;
      check_usage(key.IsScalar(), "{}: a key must be a word, not a list or a group",
                  place(origin_, key));
      const auto [first, is_new] = seen.emplace(key.Scalar(), key);
      check_usage(is_new, "{}: key '{}' is given twice, first in line {}; remove one",
                  place(origin_, key), key.Scalar(), first->second.Mark().line + 1);
      (*this)(item.second, depth + 1);
    }
  }

 private:
  const std::string& origin_;
  int64_t nodes_ = 0;
};

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}
template <typename T>
bool is_finite(const T&) {
  return true;
}

/// The last key of a path: "lr" of "train.optimizer.lr".
std::string last_key(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// The tree of a text; bad syntax and bad keys throw.
YAML::Node load_yaml(const std::string& text, const std::string& origin) {
  check_usage(text.size() <= kLongestYaml, "{}: {} bytes of YAML are more than {}", origin,
              text.size(), kLongestYaml);
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& e) {
    fail_usage("{}:{}: not valid YAML: {}", origin, e.mark.line + 1, e.msg);
  }
  KeyCheck{origin}(root);
  return root;
}

}  // namespace

struct Settings::Tree {
  YAML::Node root;
  std::string origin;
  fs::path folder;                              // of the file; empty if there is none
  std::set<std::string> assigned;               // paths that the command line set
  std::map<std::string, std::string> expanded;  // values that an assignment took for a choice

  /// Whether the value at a path, or a group around it, was set on the command line.
  bool from_command_line(const std::string& path) const {
    for (auto end = path.find('.'); end != std::string::npos; end = path.find('.', end + 1))
      if (assigned.contains(path.substr(0, end))) return true;
    return assigned.contains(path);
  }

  std::string where(const std::string& path, const YAML::Node& node) const {
    if (from_command_line(path)) return "command line";
    return node.IsDefined() ? place(origin, node) : origin;
  }
};

/// Fills fields from a tree and remembers which keys were asked for. Unknown keys are refused at
/// the end, when all known ones have been seen: perhaps one of them was meant.
class Settings::Reader : public Fields {
 public:
  explicit Reader(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {
    open_.push_back({"", tree_->root, {}});
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
    fail_usage("{}: {} is '{}'{} (one of {})", tree_->where(path, node), path, value,
               did_you_mean(value, choices), fmt::join(choices, ", "));
  }

  void path(std::string_view name, std::string& value, std::string_view help) override {
    (*this)(name, value, help);
    const auto node = find(name);
    if (value.empty() || !node.IsDefined() || node.IsNull()) return;
    const bool here = tree_->from_command_line(joined(open_.back().path, name));
    const auto folder = here || tree_->folder.empty() ? fs::current_path() : tree_->folder;
    value = (folder / value).lexically_normal().string();
  }

  void begin_group(std::string_view name, std::string_view) override { open(name, find(name)); }

  void begin_choice(std::string_view name, std::string_view) override {
    auto node = find(name);
    if (node.IsDefined() && node.IsScalar()) {
      YAML::Node named(YAML::NodeType::Map);
      named["name"] = node;
      node.reset(named);
    }
    open(name, node);
  }

  void end_group() override {
    const auto& group = open_.back();
    if (group.node.IsMap()) {
      for (const auto& item : group.node) {
        const auto& key = item.first.Scalar();
        if (std::find(group.asked.begin(), group.asked.end(), key) != group.asked.end()) continue;
        const auto path = joined(group.path, key);
        unknown_.push_back({path, tree_->where(path, item.first), group.asked});
      }
    }
    open_.pop_back();
  }

  /// Throws if there was a key that no field asked for.
  void refuse_unknown() const {
    if (unknown_.empty()) return;
    const auto& [path, where, siblings] = unknown_.front();
    fail_usage("{}: unknown key '{}'{} (known here: {})", where, path, suggestion(path, siblings),
               fmt::join(siblings, ", "));
  }

 private:
  struct Group {
    std::string path;
    YAML::Node node;
    std::vector<std::string> asked;
  };
  struct Unknown {
    std::string path, where;
    std::vector<std::string> siblings;
  };

  /// A key of that name at another place, else a sibling of nearly that name.
  std::string suggestion(const std::string& path, const std::vector<std::string>& siblings) const {
    auto written = path;  // an assignment may go on below the unknown key
    for (const auto& assigned : tree_->assigned)
      if (assigned.starts_with(path + ".")) written = assigned;
    std::vector<std::string> elsewhere;
    for (const auto& known : known_)
      if (last_key(known) == last_key(written)) elsewhere.push_back("'" + known + "'");
    if (elsewhere.empty()) return did_you_mean(last_key(path), siblings);
    return fmt::format("; did you mean {}?", fmt::join(elsewhere, " or "));
  }

  void ask_for(std::string_view name) {
    open_.back().asked.emplace_back(name);
    known_.push_back(joined(open_.back().path, name));
  }

  void open(std::string_view name, const YAML::Node& node) {
    ask_for(name);
    const auto path = joined(open_.back().path, name);
    const bool given = node.IsDefined() && !node.IsNull();
    check_usage(!given || node.IsMap(), "{}: {} is '{}', expected a group of keys",
                tree_->where(path, node), path, scalar_text(node));
    open_.push_back({path, given ? node : YAML::Node(YAML::NodeType::Map), {}});
  }

  YAML::Node find(std::string_view name) const {
    const YAML::Node& here = open_.back().node;
    return here.IsMap() ? here[std::string(name)] : YAML::Node(YAML::NodeType::Undefined);
  }

  template <typename T>
  void read(std::string_view name, T& value, std::string_view expected) {
    ask_for(name);
    const auto node = find(name);
    if (!node.IsDefined() || node.IsNull()) return;  // "key:" without a value keeps the default
    const auto path = joined(open_.back().path, name);
    try {
      value = node.as<T>();
    } catch (const YAML::Exception&) {
      if (const auto group = tree_->expanded.find(path); group != tree_->expanded.end())
        fail_usage("command line: '{}': {} is a value, not a group of keys", group->second, path);
      fail_usage("{}: {} is '{}', expected {}", tree_->where(path, node), path, scalar_text(node),
                 expected);
    }
    check_usage(is_finite(value), "{}: {} is '{}', expected finite numbers only",
                tree_->where(path, node), path, scalar_text(node));
  }

  std::shared_ptr<const Tree> tree_;
  std::vector<Group> open_;
  std::vector<std::string> known_;  // the paths of all fields and groups
  std::vector<Unknown> unknown_;
};

Settings Settings::from_file(const std::string& path) {
  auto settings = from_text(read_file(path, kLongestYaml), path);
  settings.tree_->folder = fs::absolute(path).parent_path();
  return settings;
}

Settings Settings::from_text(const std::string& text, std::string origin) {
  Settings settings;
  settings.tree_ = std::make_shared<Tree>();
  auto& root = settings.tree_->root;
  root = load_yaml(text, origin);
  if (!root.IsDefined() || root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
  check_usage(root.IsMap(), "{}: expected 'key: value' lines at the top", origin);
  settings.tree_->origin = std::move(origin);
  return settings;
}

void Settings::override_with(const std::string& assignment) {
  const auto equals = assignment.find('=');
  check_usage(equals != std::string::npos && equals > 0,
              "command line: '{}' is not of the form key.path=value", assignment);
  const auto path = assignment.substr(0, equals);
  auto value = load_yaml(assignment.substr(equals + 1),
                         fmt::format("command line: the value of '{}'", assignment));
  if (value.IsNull()) value = YAML::Node("");
  for (const auto& earlier : tree_->assigned)
    check_usage(!earlier.starts_with(path + "."),
                "command line: '{}' would undo '{}', which was given before it; give it first",
                assignment, earlier);

  YAML::Node here = tree_->root;
  std::istringstream keys(path);
  std::string key, next, walked;
  std::getline(keys, key, '.');
  while (std::getline(keys, next, '.')) {
    walked = joined(walked, key);
    YAML::Node child = here[key];
    if (!child.IsDefined() || child.IsNull()) {
      here[key] = YAML::Node(YAML::NodeType::Map);
      child = here[key];
      tree_->assigned.insert(walked);
    } else if (child.IsScalar()) {  // perhaps the name of a choice, whose keys these are
      const YAML::Node name(child);
      YAML::Node group(YAML::NodeType::Map);
      group["name"] = YAML::Clone(name);
      here[key] = group;
      child = here[key];
      tree_->expanded[walked] = assignment;
    }
    check_usage(child.IsMap(), "command line: '{}': {} is a value, not a group of keys", assignment,
                key);
    here.reset(child);
    key = next;
  }
  here[key] = value;
  tree_->assigned.insert(path);
}

std::unique_ptr<Fields> Settings::make_reader() const { return std::make_unique<Reader>(tree_); }

void Settings::finish(Fields& reader) {
  auto& filled = static_cast<Reader&>(reader);
  filled.end_group();
  filled.refuse_unknown();
}

}  // namespace vitrine
