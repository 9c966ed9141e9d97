#include <cstdlib>
#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/models/registry.h"
#include "vitrine/weights/published.h"

namespace vitrine::cli {
namespace {

struct WeightsOptions {
  std::string name, filter, from, folder;
  bool json = false;
};

/// The accuracy as it was published, or nothing.
std::string top1_text(const PublishedWeights& w) {
  return w.top1 > 0 ? fmt::format("{:.2f}", w.top1) : "";
}

nlohmann::ordered_json weights_json(const std::string& name, const PublishedWeights& w) {
  nlohmann::ordered_json json = {{"name", name},
                                 {"description", w.description},
                                 {"model", w.model},
                                 {"known_model", models().has(w.model)},
                                 {"address", w.address},
                                 {"megabytes", w.megabytes},
                                 {"image", w.image},
                                 {"licence", w.licence},
                                 {"sha256_begins", w.sha256}};
  if (w.top1 > 0) json["top1"] = w.top1;
  return json;
}

int run_weights_list(const WeightsOptions& o, Streams streams) {
  if (!o.json)
    streams.out << fmt::format("{:<18} {:>6} {:>6} {:>6}  {:<28}  {}\n", "name", "MB", "image",
                               "top-1", "licence", "what");
  for (const auto& [name, w] : published_weights()) {
    if (name.find(o.filter) == name.npos) continue;
    if (o.json)
      streams.out << weights_json(name, w).dump() << '\n';
    else
      streams.out << fmt::format("{:<18} {:>6} {:>6} {:>6}  {:<28}  {}{}\n", name, w.megabytes,
                                 w.image, top1_text(w), w.licence, w.description,
                                 models().has(w.model) ? "" : " (no model yet)");
  }
  return 0;
}

int run_weights_info(const WeightsOptions& o, Streams streams) {
  const auto& w = published_weights().get(o.name);
  if (o.json) {
    streams.out << weights_json(o.name, w).dump() << '\n';
    return 0;
  }
  const auto line = [&](const char* key, const std::string& value) {
    if (!value.empty()) streams.out << fmt::format("{:<10} {}\n", key, value);
  };
  line("name", o.name);
  line("what", w.description);
  line("model", w.model + (models().has(w.model) ? "" : " (not in this program yet)"));
  line("image", fmt::format("{} x {}", w.image, w.image));
  line("top-1", w.top1 > 0 ? top1_text(w) + " % on ImageNet-1k, as published" : "");
  line("size", fmt::format("about {} MB", w.megabytes));
  line("address", w.address);
  line("SHA-256", w.sha256.empty() ? "not published" : w.sha256 + "...");
  line("licence", w.licence);
  return 0;
}

int run_weights_fetch(const WeightsOptions& o, Streams streams) {
  catch_interrupts();
  const auto& w = published_weights().get(o.name);
  const char* variable = std::getenv("VITRINE_WEIGHTS");
  const fs::path folder = !o.folder.empty() ? o.folder : variable ? variable : "weights";
  const auto fetched = fetch_weights(o.name, w, folder, o.from);
  streams.err << fetched.done << '\n';
  if (o.json)
    streams.out << nlohmann::json{{"name", o.name}, {"path", fetched.path.string()}}.dump() << '\n';
  else
    streams.out << fetched.path.string() << '\n';
  return 0;
}

}  // namespace

Command weights_command() {
  return {
      "weights", "list, describe and fetch published weights", [](CLI::App& app) {
        const auto o = std::make_shared<WeightsOptions>();
        Subcommands commands(app);
        const auto add = [&](const char* name, const char* summary, auto run) {
          auto* sub = commands.add(name, summary, o, run);
          sub->add_flag("--json", o->json, "results as JSON");
          return sub;
        };
        auto* list =
            add("list", "list the published weights that can be fetched by name", run_weights_list);
        list->add_option("filter", o->filter, "only names that contain this")->type_name("WEIGHTS");
        auto* info = add("info", "address, size, licence and accuracy of one", run_weights_info);
        auto* fetch =
            add("fetch", "download one and verify it; a download that was interrupted goes on",
                run_weights_fetch);
        for (auto* sub : {info, fetch})
          sub->add_option("name", o->name, "a name of `vitrine weights list`")
              ->type_name("WEIGHTS")
              ->required();
        fetch
            ->add_option("--to", o->folder,
                         "folder to store it in (default: $VITRINE_WEIGHTS, else weights)")
            ->type_name("FOLDER");
        fetch
            ->add_option("--from", o->from,
                         "a mirror (https://...), or a file or folder instead of the network; "
                         "proxies come from HTTPS_PROXY")
            ->type_name("PATH");
        return commands.body();
      }};
}

}  // namespace vitrine::cli
