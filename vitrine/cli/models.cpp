#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/inspect/cards/page.h"
#include "vitrine/inspect/published_networks.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

struct ModelsOptions {
  std::string filter, cards;
  bool json = false;
  bool all = false;
  bool table = false;
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

std::string optional_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

/// With its decimals, if it has some: 25, 55.5.
std::string reference_number(double value) { return fmt::format("{:g}", value); }

/// The count with a mark if the reference has another.
std::string marked(int64_t count, double unit, bool differs) {
  return short_number(static_cast<double>(count), unit) + (differs ? "*" : " ");
}

std::string table_row(const ComparedNetwork& c) {
  const auto& p = c.published;
  return fmt::format("{:<13}  {:<12}  {:>5}  {:>10}  {:>6}  {:>13}  {:>6}  {:>8}  {:>5}  {:>5}\n",
                     p.network, p.model, p.image, marked(c.parameters, 1e6, c.parameters_differ()),
                     reference_number(p.parameters),
                     marked(c.multiply_adds, 1e9, c.multiply_adds_differ()),
                     reference_number(p.multiply_adds), optional_number(p.imagenet),
                     optional_number(p.real), optional_number(p.v2));
}

std::string table_text(const std::vector<ComparedNetwork>& rows) {
  auto text = fmt::format(
      "{:<13}  {:<12}  {:>5}  {:>10}  {:>6}  {:>13}  {:>6}  {:>8}  {:>5}  {:>5}\n", "network",
      "model", "image", "params (M)", "ref.", "mult-adds (G)", "ref.", "ImageNet", "ReaL", "V2");
  std::vector<std::string> references;
  for (const auto& row : rows) {
    text += table_row(row);
    const auto& name = row.published.reference;
    if (std::find(references.begin(), references.end(), name) == references.end())
      references.push_back(name);
  }
  text += fmt::format(
      "\nParameters and multiply-adds are counted here. The columns `ref.` and the top-1 "
      "accuracies "
      "(%) are published figures\n({}), not measured here.\n* is another number than the "
      "reference has once rounded as there, or more than 3 % from its FLOPs.\n",
      fmt::join(references, "; "));
  for (const auto& row : rows)
    if (!row.published.note.empty())
      text += fmt::format("{}: {}\n", row.published.network, row.published.note);
  return text;
}

ordered_json table_json(const ComparedNetwork& c) {
  const auto& p = c.published;
  const auto number = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  return {{"network", p.network},
          {"model", p.model},
          {"image", p.image},
          {"parameters", c.parameters},
          {"multiply_adds", c.multiply_adds},
          {"parameters_differ", c.parameters_differ()},
          {"multiply_adds_differ", c.multiply_adds_differ()},
          {"published",
           {{"reference", p.reference},
            {"parameters_millions", p.parameters},
            {"multiply_adds_billions", p.multiply_adds},
            {"imagenet_top1", p.imagenet},
            {"imagenet_real_top1", number(p.real)},
            {"imagenet_v2_top1", number(p.v2)}}},
          {"note", p.note}};
}

int run_table(const ModelsOptions& o, Streams streams) {
  const auto has = [&](const std::string& text) {
    return text.find(o.filter) != std::string::npos;
  };
  std::vector<ComparedNetwork> rows;
  for (const auto& row : published_networks())
    if (has(row.network) || has(row.model)) rows.push_back(compared(row));
  check(!rows.empty(),
        "models: no network of the table is called '{}'; leave it out to see them all", o.filter);
  std::string text;
  if (o.json)
    for (const auto& row : rows) text += table_json(row).dump() + "\n";
  streams.out << (o.json ? text : table_text(rows));
  return 0;
}

int run_cards(const ModelsOptions& o, Streams streams) {
  for (const auto& path : write_model_cards(o.cards)) streams.out << path.string() << '\n';
  return 0;
}

int run_models(const ModelsOptions& o, Streams streams) {
  if (!o.cards.empty()) return run_cards(o, streams);
  if (o.table) return run_table(o, streams);
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
            auto* filter =
                app.add_option("filter", o->filter, "only names and aliases that contain this")
                    ->type_name("MODEL");
            auto* json = app.add_flag("--json", o->json, "one JSON object per line");
            auto* all = app.add_flag("--all", o->all, "aliases in lines of their own");
            auto* table = app.add_flag("--table", o->table,
                                       "the networks of a published comparison: counted here "
                                       "beside the reference's figures")
                              ->excludes(all);
            app.add_option("--cards", o->cards,
                           "write models.md, a card per family with its figure, to this folder")
                ->type_name("FOLDER")
                ->excludes(filter, json, all, table);
            return [o](Streams s) { return run_models(*o, s); };
          }};
}

}  // namespace vitrine::cli
