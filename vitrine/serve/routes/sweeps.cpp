#include <algorithm>
#include <set>

#include "vitrine/serve/routes/common.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/studies/sweep_runner.h"

// The sweeps below --sweeps and --runs, as far as they are made at the moment of asking.
namespace vitrine::serve {
namespace {

/// The folder of a sweep; empty if neither folder has one of this name.
fs::path folder_of_sweep(const std::string& name, const ServeConfig& config) {
  for (const auto& parent : {config.sweeps, config.runs})
    if (is_plain_name(name) && holds_sweep(parent / name)) return parent / name;
  return {};
}

int64_t last_change(const fs::path& folder) {
  std::error_code error;
  const auto results = folder / "results.csv";
  return seconds_since_1970(
      fs::last_write_time(fs::exists(results, error) ? results : folder / "sweep.yaml", error));
}

Response list_sweeps(const RouteContext& context) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& parent : {context.config.sweeps, context.config.runs})
    for (const auto& entry : fs::directory_iterator(parent, error))
      names.insert(entry.path().filename().string());
  auto sweeps = ordered_json::array();
  for (const auto& name : names)
    if (const auto folder = folder_of_sweep(name, context.config); !folder.empty())
      sweeps.push_back({{"name", name}, {"modified", last_change(folder)}});
  return json_response({{"sweeps", sweeps}});
}

ordered_json metric_json(const Metric& metric) {
  return {{"name", metric.name},
          {"unit", metric.unit},
          {"higher_is_better", metric.higher_is_better},
          {"log_scale", metric.log_scale}};
}

ordered_json run_json(const SweepRun& run, const SweepPoint& point,
                      const std::vector<std::string>& varied) {
  auto settings = ordered_json::object();
  for (const auto& key : varied) {
    const auto value = point.value(key);
    settings[key] = value.empty() ? ordered_json() : ordered_json(value);
  }
  ordered_json json = {{"name", run.folder.filename().string()},
                       {"seed", run.seed},
                       {"state", "failed"},
                       {"settings", settings}};
  if (run.failed()) {
    json["error"] = run.error;
    return json;
  }
  const auto& o = *run.outcome;
  json["state"] = stop_reason_name(o.stop_reason);
  json["validation"] = o.validation_value();
  json["test"] = o.test_value();
  json["seconds"] = o.seconds;
  json["epochs"] = o.epochs;
  json["parameters"] = o.parameters;
  return json;
}

Response show_sweep(const Request& request, const RouteContext& context) {
  const auto& name = request.path_part("name");
  const auto folder = folder_of_sweep(name, context.config);
  require(!folder.empty(), 404, "sweep '{}' is not known; see /v1/sweeps", name);
  auto config = parse_sweep(read_file(folder / "sweep.yaml"), (folder / "sweep.yaml").string());
  const auto recipe = config.recipe.string();
  config.name = name;  // the folder may have been renamed, and the recipe moved
  config.recipe = folder / "recipe.yaml";
  const auto result = run_sweep(config, {.out = folder.parent_path(), .only_stored = true});
  const auto varied = varied_keys(config);
  std::set<std::string> planned;
  for (const auto& point : sweep_points(config))
    for (const auto seed : config.seeds) planned.insert(run_name(point, varied, seed));
  auto runs = ordered_json::array();
  ordered_json metric;
  std::set<fs::path> listed;  // points may share runs
  for (const auto& [point, of_point] : result.points)
    for (const auto& run : of_point) {
      if (!listed.insert(run.folder).second) continue;
      if (run.outcome && metric.is_null()) metric = metric_json(run.outcome->selection_metric);
      runs.push_back(run_json(run, point, varied));
    }
  return json_response({{"name", name},
                        {"recipe", recipe},
                        {"varied", varied},
                        {"metric", metric},
                        {"planned", planned.size()},
                        {"runs", runs}});
}

}  // namespace

bool holds_sweep(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "sweep.yaml", error);
}

void add_sweep_routes(Router& router, const RouteContext& context) {
  router.add({"GET", "/v1/sweeps", [&](const Request&) { return list_sweeps(context); }});
  router.add(
      {"GET", "/v1/sweeps/{name}", [&](const Request& r) { return show_sweep(r, context); }});
}

}  // namespace vitrine::serve
