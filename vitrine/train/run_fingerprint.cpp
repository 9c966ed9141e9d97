#include "vitrine/train/run_fingerprint.h"

#include <fmt/ranges.h>
#include <torch/torch.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/train/hparams.h"

namespace vitrine {
namespace {

constexpr int64_t kExamples = 16;   // of the training split
constexpr double kRounding = 1e-3;  // what another CPU may round differently

Recipe without_free_settings(Recipe recipe) {
  const Recipe defaults;
  recipe.init = recipe.init_backbone = "";      // their weights are in the resume state
  recipe.data.dataset = defaults.data.dataset;  // the examples are compared instead
  recipe.data.root = "";
  recipe.data.workers = defaults.data.workers;
  auto& train = recipe.train;
  train.teacher = "";  // its checksum is compared instead
  train.epochs = defaults.train.epochs;
  train.patience = defaults.train.patience;
  train.goal = defaults.train.goal;
  train.evaluate_every = defaults.train.evaluate_every;
  train.evaluate_steps = defaults.train.evaluate_steps;
  train.budget_seconds = defaults.train.budget_seconds;
  train.checkpoint_steps = defaults.train.checkpoint_steps;
  train.log_steps = defaults.train.log_steps;
  return recipe;
}

std::string text_of(const std::variant<bool, double, std::string>& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

double mean_of(const torch::Tensor& tensor) {
  return tensor.to(torch::kDouble).mean().item<double>();
}

void add_means(const BatchSource& split, std::vector<double>& means) {
  const auto count = std::min(kExamples, split.size());
  for (int64_t i = 0; i < count; ++i) {
    const auto batch = split.load({i * split.size() / count}, /*epoch=*/-1);
    means.push_back(mean_of(batch.inputs));
    means.push_back(mean_of(batch.targets));
  }
}

/// "data.batch 64 instead of 32" for every setting that differs.
std::vector<std::string> differences(const RunFingerprint& then, const RunFingerprint& now) {
  const std::map<std::string, std::string> before(then.settings.begin(), then.settings.end());
  std::vector<std::string> texts;
  for (const auto& [key, value] : now.settings)
    if (const auto old = before.find(key); old != before.end() && old->second != value)
      texts.push_back(fmt::format("{} {} instead of {}", key, value, old->second));
  return texts;
}

bool alike(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::abs(x - y) <= kRounding * std::max(1., std::abs(x));
  });
}

}  // namespace

RunFingerprint fingerprint_of(const Recipe& recipe, const Splits& data) {
  RunFingerprint fingerprint;
  for (const auto& [key, value] : hparams_of(without_free_settings(recipe)))
    fingerprint.settings.emplace_back(key, text_of(value));
  for (const auto& split : {data.train, data.validation, data.test})
    fingerprint.sizes.push_back(split->size());
  add_means(*data.train, fingerprint.means);
  return fingerprint;
}

void check_same_run(const RunFingerprint& then, const RunFingerprint& now,
                    const std::string& folder) {
  if (then.empty()) return;  // a state of a version that kept no fingerprint
  const auto changed = differences(then, now);
  check(changed.empty(),
        "resume: the recipe in {} was changed since the run began: {}; put it back, or start a new "
        "run with it",
        folder, fmt::join(changed, ", "));
  check(then.sizes == now.sizes,
        "resume: {} began with {} examples (training, validation, test), its data have {} now; put "
        "back what is missing, or start a new run",
        folder, fmt::join(then.sizes, ", "), fmt::join(now.sizes, ", "));
  check(alike(then.means, now.means),
        "resume: {} began with other examples than its data hold now; put those back, or start a "
        "new run",
        folder);
}

void to_json(nlohmann::ordered_json& j, const RunFingerprint& f) {
  j = {{"settings", f.settings}, {"sizes", f.sizes}, {"means", f.means}};
}

void from_json(const nlohmann::ordered_json& j, RunFingerprint& f) {
  j.at("settings").get_to(f.settings);
  j.at("sizes").get_to(f.sizes);
  j.at("means").get_to(f.means);
}

}  // namespace vitrine
