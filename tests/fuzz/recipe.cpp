// Recipes as every config reads them: all kinds of fields, groups, and settings of the command
// line, which follow the YAML behind lines of "---".
#include <algorithm>

#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/core/settings.h"

namespace vitrine::fuzz {
namespace {

enum class Rule { Sgd, Adam };

struct Optimizer {
  double lr = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
  Rule rule = Rule::Adam;

  void visit(Fields& f) {
    f("lr", lr, "learning rate");
    f("betas", betas, "decays");
    f("rule", rule, {{"sgd", Rule::Sgd}, {"adam", Rule::Adam}}, "rule");
  }
};

struct Config {
  std::string name = "run", file;
  int64_t seed = 1;
  bool recompute = false;
  std::vector<int64_t> depths = {2, 2};
  Optimizer optimizer, model;

  void visit(Fields& f) {
    f("name", name, "name");
    f.path("file", file, "file");
    f("seed", seed, "seed");
    f("recompute", recompute, "recompute");
    f("depths", depths, "depths");
    f.group("optimizer", optimizer, "optimizer");
    f.choice("model", model, "model");
  }
};

}  // namespace

void recipe(std::string_view bytes) {
  constexpr std::string_view kCut = "\n---\n";
  const auto end = std::min(bytes.find(kCut), bytes.size());
  auto settings = Settings::from_text(std::string(bytes.substr(0, end)), "input");
  for (auto rest = bytes.substr(end); rest.starts_with(kCut);) {
    rest.remove_prefix(kCut.size());
    const auto next = std::min(rest.find(kCut), rest.size());
    settings.override_with(std::string(rest.substr(0, next)));
    rest.remove_prefix(next);
  }
  Config config;
  settings.read_into(config);
  // What was read can be stored and read again as the same.
  const auto text = to_yaml(config);
  Config again;
  Settings::from_text(text, "stored").read_into(again);
  must(to_yaml(again) == text, "what was stored reads differently");
}

}  // namespace vitrine::fuzz
