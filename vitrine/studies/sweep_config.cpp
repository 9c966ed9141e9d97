#include "vitrine/studies/sweep_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"
#include "vitrine/core/settings.h"

namespace vitrine {
namespace {

const std::vector<std::string> kKeys = {
    "name", "recipe",        "seeds", "budget", "workers",        "threads",
    "set",  "one_at_a_time", "grid",  "list",   "learning_rates", "search_budget"};

constexpr auto kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr auto kDigits = "0123456789";

std::string text_of(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out << YAML::Flow << node;
  return out.c_str();
}

/// A sweep file's tree; every error says where in the file its cause is.
class SweepReader {
 public:
  SweepReader(const std::string& text, const std::string& origin) : origin_(origin) {
    check(text.size() <= kLongestYaml, "{}: {} bytes of YAML are more than {}", origin, text.size(),
          kLongestYaml);
    try {
      root_ = YAML::Load(text);
    } catch (const YAML::Exception& e) {
      fail("{}:{}: not valid YAML: {}", origin, e.mark.line + 1, e.msg);
    }
    check(root_.IsMap(), "{}: expected 'key: value' lines at the top", origin);
    for (const auto& [key, node] : entries(root_))
      check(contains(kKeys, key), "{}: unknown key '{}'{} (known here: {})", place(node), key,
            did_you_mean(key, kKeys), fmt::join(kKeys, ", "));
  }

  template <typename T>
  void read(const std::string& key, T& value, std::string_view expected) const {
    const auto node = root_[key];
    if (!is_given(node)) return;
    try {
      value = node.as<T>();
    } catch (const YAML::Exception&) {
      fail("{}: {} is '{}', expected {}", place(node), key, text_of(node), expected);
    }
  }

  std::vector<Setting> settings(const std::string& key) const {
    std::vector<Setting> all;
    for (const auto& [name, node] : recipe_keys(key)) all.emplace_back(name, value(name, node));
    return all;
  }

  std::vector<SweepAxis> axes(const std::string& key) const {
    std::vector<SweepAxis> all;
    for (const auto& [name, node] : recipe_keys(key)) all.push_back({name, values(name, node)});
    return all;
  }

  std::vector<std::string> learning_rates() const {
    const auto node = root_["learning_rates"];
    if (!is_given(node)) return {};
    std::vector<double> rates;
    read("learning_rates", rates, "a list of numbers");
    check(std::all_of(rates.begin(), rates.end(),
                      [](double rate) { return rate > 0 && std::isfinite(rate); }),
          "{}: learning_rates {} has a rate that is not positive", place(node), text_of(node));
    return distinct(values("learning_rates", node), "learning_rates", node);
  }

  /// All of `axes` take each value once.
  void check_distinct(const std::vector<SweepAxis>& axes, const std::string& key) const {
    for (const auto& axis : axes) distinct(axis.values, axis.key, root_[key][axis.key]);
  }

  void check_equal_lengths(const std::vector<SweepAxis>& axes) const {
    for (const auto& axis : axes)
      check(axis.values.size() == axes[0].values.size(),
            "{}: list: {} has {} values, but {} has {}; a list needs as many of each",
            place(root_["list"][axis.key]), axis.key, axis.values.size(), axes[0].key,
            axes[0].values.size());
  }

  std::string place_of(const std::string& key) const { return place(root_[key]); }

 private:
  using Entries = std::vector<std::pair<std::string, YAML::Node>>;

  static bool is_given(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }

  std::string place(const YAML::Node& node) const {
    if (!node.IsDefined() || node.Mark().is_null()) return origin_;
    return fmt::format("{}:{}", origin_, node.Mark().line + 1);
  }

  Entries entries(const YAML::Node& map) const {
    Entries all;
    std::set<std::string> seen;
    for (const auto& item : map) {
      const auto key = text_of(item.first);
      check(seen.insert(key).second, "{}: {} is given twice", place(item.first), key);
      all.emplace_back(key, item.second);
    }
    return all;
  }

  /// The entries of a group whose keys are those of recipes.
  Entries recipe_keys(const std::string& group) const {
    const auto node = root_[group];
    if (!is_given(node)) return {};
    check(node.IsMap(), "{}: {} is '{}', expected a group of keys", place(node), group,
          text_of(node));
    const auto all = entries(node);
    for (const auto& [key, value] : all) {
      const bool plain = key.find_first_not_of(std::string(kLetters) + kDigits + "_.") == key.npos;
      check(plain && !key.empty(), "{}: {}: '{}' is no key of a recipe, such as model.embed",
            place(value), group, key);
      check(key != "seed", "{}: {}: give seeds with 'seeds', not as a setting", place(value),
            group);
      check(key != kBudgetKey, "{}: {}: give the time with 'budget', not as a setting",
            place(value), group);
    }
    return all;
  }

  std::string value(const std::string& key, const YAML::Node& node) const {
    check(!node.IsNull(), "{}: {} has no value", place(node), key);
    check(!node.IsMap(), "{}: {} is a group of keys, expected a value; write keys with dots ({}.x)",
          place(node), key, key);
    return text_of(node);
  }

  std::vector<std::string> values(const std::string& key, const YAML::Node& node) const {
    check(node.IsSequence(), "{}: {} is '{}', expected a list of values", place(node), key,
          text_of(node));
    check(node.size() > 0, "{}: {} has no values", place(node), key);
    std::vector<std::string> all;
    for (const auto& item : node) all.push_back(value(key, item));
    return all;
  }

  std::vector<std::string> distinct(std::vector<std::string> values, const std::string& key,
                                    const YAML::Node& node) const {
    std::set<std::string> seen;
    for (const auto& value : values)
      check(seen.insert(value).second, "{}: {} has {} twice", place(node), key, value);
    return values;
  }

  std::string origin_;
  YAML::Node root_;
};

void check_numbers(const SweepConfig& c, const SweepReader& r) {
  check(!c.seeds.empty(), "{}: seeds has no values", r.place_of("seeds"));
  check(std::set(c.seeds.begin(), c.seeds.end()).size() == c.seeds.size(),
        "{}: seeds {} has one twice; the same seed gives the same run", r.place_of("seeds"),
        fmt::join(c.seeds, ", "));
  check(c.workers >= 1, "{}: workers {} is not positive", r.place_of("workers"), c.workers);
  check(c.threads >= 1, "{}: threads {} is not positive", r.place_of("threads"), c.threads);
  check(c.budget >= 0, "{}: budget {} is negative", r.place_of("budget"), c.budget);
  check(c.search_budget >= 0, "{}: search_budget {} is negative", r.place_of("search_budget"),
        c.search_budget);
}

void check_axes(const SweepConfig& c, const SweepReader& r, const std::string& origin) {
  check(!c.one_at_a_time.empty() || !c.grid.empty() || !c.list.empty(),
        "{}: the sweep varies nothing; give axes under one_at_a_time, grid or list", origin);
  r.check_distinct(c.one_at_a_time, "one_at_a_time");
  r.check_distinct(c.grid, "grid");
  r.check_equal_lengths(c.list);
  if (c.learning_rates.empty()) return;
  for (const auto* axes : {&c.one_at_a_time, &c.grid, &c.list})
    for (const auto& axis : *axes)
      check(axis.key != kLearningRateKey,
            "{}: learning_rates chooses {}, which is an axis as well; leave one of them out",
            r.place_of("learning_rates"), kLearningRateKey);
}

}  // namespace

SweepConfig parse_sweep(const std::string& text, const std::string& origin) {
  const SweepReader r(text, origin);
  SweepConfig c;
  c.text = text;
  std::string recipe;
  r.read("name", c.name, "text");
  r.read("recipe", recipe, "text");
  r.read("seeds", c.seeds, "a list of whole numbers");
  r.read("budget", c.budget, "a number");
  r.read("workers", c.workers, "a whole number");
  r.read("threads", c.threads, "a whole number");
  r.read("search_budget", c.search_budget, "a number");
  c.recipe = recipe;
  c.set = r.settings("set");
  c.one_at_a_time = r.axes("one_at_a_time");
  c.grid = r.axes("grid");
  c.list = r.axes("list");
  c.learning_rates = r.learning_rates();

  const bool plain =
      c.name.find_first_not_of(std::string(kLetters) + kDigits + "_.-") == std::string::npos;
  check(!c.name.empty(), "{}: the sweep has no name; its folder needs one", origin);
  check(plain && c.name[0] != '.',
        "{}: name '{}' cannot name a folder; use letters, digits, - and _", r.place_of("name"),
        c.name);
  check(!recipe.empty(), "{}: the sweep names no recipe", origin);
  check_numbers(c, r);
  check_axes(c, r, origin);
  return c;
}

SweepConfig read_sweep(const fs::path& file) {
  const auto text = read_file(file, kLongestYaml);
  auto config = as_usage([&] { return parse_sweep(text, file.string()); });
  config.recipe = (file.parent_path() / config.recipe).lexically_normal();
  check(fs::is_regular_file(config.recipe),
        "{}: there is no recipe {} (paths are relative to the sweep file)", file.string(),
        config.recipe.string());
  return config;
}

std::string changed_meaning(const SweepConfig& before, const SweepConfig& now) {
  if (before.set != now.set) return "set";
  if (before.budget != now.budget) return "budget";
  if (before.threads != now.threads) return "threads";
  if (before.learning_rates != now.learning_rates) return "learning_rates";
  if (before.search_budget != now.search_budget) return "search_budget";
  return "";
}

SweepConfig smoke_sweep_config(SweepConfig config) {
  constexpr size_t kValues = 2;
  constexpr double kBudget = 2, kSearchBudget = 1;  // seconds
  const auto at_most = [](double budget, double most) {
    return budget > 0 ? std::min(budget, most) : most;
  };
  config.name += "-smoke";
  config.seeds.resize(1);
  config.budget = at_most(config.budget, kBudget);
  config.search_budget = at_most(config.search_budget, kSearchBudget);
  for (auto* axes : {&config.one_at_a_time, &config.grid, &config.list})
    for (auto& axis : *axes) axis.values.resize(std::min(axis.values.size(), kValues));
  config.learning_rates.resize(std::min(config.learning_rates.size(), kValues));
  return config;
}

}  // namespace vitrine
