#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

struct ModelsOptions {
  std::string filter;
  bool json = false;
  bool all = false;
};

struct Listed {
  std::string name, description, alias_of;
  std::vector<std::string> aliases;
  ModelSummary summary;
};

bool matches(const Listed& model, const std::string& filter) {
  const auto has = [&](const std::string& text) { return text.find(filter) != std::string::npos; };
  return has(model.name) || std::any_of(model.aliases.begin(), model.aliases.end(), has);
}

/// The models that were asked for; without `all`, an alias only stands beside its model.
std::vector<Listed> list(const ModelsOptions& o) {
  std::vector<Listed> result;
  for (const auto& [name, entry] : models()) {
    if (models().has(entry.alias_of) && !o.all) continue;
    Listed model{name, entry.description, entry.alias_of, {}, {}};
    for (const auto& [other, its] : models())
      if (its.alias_of == name) model.aliases.push_back(other);
    if (!matches(model, o.filter)) continue;
    model.summary = summarize(ModelChoice(name));
    result.push_back(std::move(model));
  }
  return result;
}

/// With two decimals, or two significant digits where those would say 0.
std::string short_number(double value, double unit) {
  return value >= 0.01 * unit ? fmt::format("{:.2f}", value / unit)
                              : fmt::format("{:.2g}", value / unit);
}

/// The side of the model's images, or nothing if it does not take images.
std::optional<int64_t> image_of(const ModelSummary& summary) {
  if (summary.input.size() != 4) return std::nullopt;
  return summary.input.back();
}

std::string text_of(const Listed& m, size_t width) {
  const auto image = image_of(m.summary);
  auto text = fmt::format("{:<{}}  {:>10}  {:>13}  {:>5}  {}", m.name, width,
                          short_number(static_cast<double>(m.summary.parameters), 1e6),
                          short_number(static_cast<double>(m.summary.multiply_adds), 1e9),
                          image ? fmt::format("{}", *image) : "-", m.description);
  if (!m.alias_of.empty()) text += fmt::format(" (= {})", m.alias_of);
  if (!m.aliases.empty()) text += fmt::format(" (also {})", fmt::join(m.aliases, ", "));
  return text;
}

ordered_json json_of(const Listed& m) {
  ordered_json json = {{"name", m.name},
                       {"description", m.description},
                       {"parameters", m.summary.parameters},
                       {"multiply_adds", m.summary.multiply_adds},
                       {"aliases", m.aliases}};
  if (const auto image = image_of(m.summary)) json["image"] = *image;
  if (!m.alias_of.empty()) json["alias_of"] = m.alias_of;
  return json;
}

int run_models(const ModelsOptions& o, Streams streams) {
  const auto found = list(o);
  check(!found.empty(), "models: no name contains '{}'; `vitrine models` lists them all", o.filter);
  size_t width = 4;
  for (const auto& model : found) width = std::max(width, model.name.size());
  if (!o.json)
    streams.out << fmt::format("{:<{}}  {:>10}  {:>13}  {:>5}  {}\n", "name", width, "params (M)",
                               "mult-adds (G)", "image", "description");
  for (const auto& model : found)
    streams.out << (o.json ? json_of(model).dump() : text_of(model, width)) << '\n';
  return 0;
}

}  // namespace

Command models_command() {
  return {"models", "list the models with their size and cost", [](CLI::App& app) {
            const auto o = std::make_shared<ModelsOptions>();
            app.add_option("filter", o->filter, "only names and aliases that contain this");
            app.add_flag("--json", o->json, "one JSON object per line");
            app.add_flag("--all", o->all, "aliases in lines of their own");
            return [o](Streams s) { return run_models(*o, s); };
          }};
}

}  // namespace vitrine::cli
