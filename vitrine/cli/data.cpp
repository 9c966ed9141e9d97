#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/registry.h"

namespace vitrine::cli {
namespace {

using nlohmann::json;

struct DataOptions {
  std::string name;
  std::string root;
  std::vector<std::string> settings;  // key=value, as under `data:` of a recipe
  std::string from;
  bool json = false;
};

void bind_common(CLI::App& app, DataOptions& o) {
  app.add_option("name", o.name, "the data set (`vitrine data list`)")->required();
  app.add_option("--root", o.root, "where data sets lie (default: $VITRINE_DATA, else data)");
  app.add_option("settings", o.settings, "key=value of the recipe's data part, folder=PATH say");
}

DataConfig config_of(const DataOptions& o) {
  auto settings = Settings::from_text("{}", "command line");
  for (const auto& assignment : o.settings) settings.override_with(assignment);
  DataConfig config;
  settings.read_into(config);
  config.dataset = o.name;
  if (!o.root.empty()) config.root = o.root;
  datasets().get(o.name);
  return config;
}

int run_list(const DataOptions& o, Streams streams) {
  for (const auto& [name, entry] : datasets()) {
    if (o.json)
      streams.out << json{{"name", name}, {"summary", entry.summary}}.dump() << '\n';
    else
      streams.out << fmt::format("{:<14} {}\n", name, entry.summary);
  }
  return 0;
}

int run_fetch(const DataOptions& o, Streams streams) {
  catch_interrupts();
  const auto config = config_of(o);
  const auto done = datasets().get(o.name).fetch(config, o.from);
  (o.json ? streams.err : streams.out) << done << '\n';
  if (o.json)
    streams.out
        << json{{"name", o.name}, {"root", data_root(config).string()}, {"done", done}}.dump()
        << '\n';
  return 0;
}

}  // namespace

Command data_command() {
  return {"data", "list, fetch, describe and show data sets", [](CLI::App& app) {
            const auto o = std::make_shared<DataOptions>();
            const auto body = std::make_shared<std::function<int(Streams)>>();
            app.require_subcommand(1);
            const auto add = [&](const char* name, const char* summary, auto run) {
              auto* sub = app.add_subcommand(name, summary);
              sub->add_flag("--json", o->json, "results as JSON");
              sub->final_callback([=] { *body = [=](Streams s) { return run(*o, s); }; });
              return sub;
            };
            add("list", "every data set that can be named", run_list);
            auto* fetch = add("fetch", "bring a data set's files here and verify them", run_fetch);
            bind_common(*fetch, *o);
            fetch->add_option("--from", o->from, "an archive or folder instead of the network");
            return [body](Streams s) { return (*body)(s); };
          }};
}

}  // namespace vitrine::cli
