#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "vitrine/serve/routes/common.h"
#include "vitrine/train/run_folder.h"

// The run folders below --runs, as they are on the disk at the moment of asking.
namespace vitrine::serve {
namespace {

constexpr auto kQuiet =
    std::chrono::minutes(5);  // a run that writes nothing for so long has stopped

std::string read_if_there(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) ? read_file(file) : "";
}

/// The complete lines of metrics.jsonl; training may be writing the last one.
std::vector<ordered_json> metric_lines(const RunFolder& run) {
  std::vector<ordered_json> lines;
  std::istringstream text(read_if_there(run.metrics()));
  for (std::string line; std::getline(text, line) && !text.eof();) {
    auto json = ordered_json::parse(line, /*callback=*/nullptr, /*allow_exceptions=*/false);
    if (json.is_object()) lines.push_back(std::move(json));
  }
  return lines;
}

/// The run in a folder; nothing if it holds none.
std::optional<RunFolder> run_in(const fs::path& folder) {
  try {
    auto run = RunFolder::open(folder);
    if (fs::is_regular_file(run.recipe()) && !holds_sweep(folder)) return run;
  } catch (const std::exception&) {  // no recipe, or a name that the system refuses
  }
  return std::nullopt;
}

std::string text_at(const YAML::Node& node, const char* first, const char* second) {
  const auto child = [](const YAML::Node& parent, const char* key) {
    return parent.IsDefined() && parent.IsMap() ? parent[key] : YAML::Node();
  };
  const auto value = child(child(node, first), second);
  return value.IsDefined() && value.IsScalar() ? value.as<std::string>() : "";
}

/// The epoch of least validation loss so far.
ordered_json best_epoch(const std::vector<ordered_json>& lines) {
  const ordered_json* best = nullptr;
  const auto loss = [](const ordered_json& line) { return line["validation_loss"].get<double>(); };
  for (const auto& line : lines)
    if (line.value("kind", "") == "epoch" && line.contains("validation_loss") &&
        line["validation_loss"].is_number() && (best == nullptr || loss(line) < loss(*best)))
      best = &line;
  auto result = ordered_json::object();
  if (best == nullptr) return result;
  for (const auto& [key, value] : best->items())
    if (key == "epoch" || key.starts_with("validation_")) result[key] = value;
  return result;
}

ordered_json best_of(const ordered_json& result) {
  auto best = ordered_json::object();
  best["metric"] = result.value("selection_metric", "");
  best["unit"] = result.value("unit", "");
  for (const auto* split : {"validation", "test"}) {
    const auto metrics = result.value(split, ordered_json::object());
    for (const auto& [key, value] : metrics.items()) best[fmt::format("{}_{}", split, key)] = value;
  }
  return best;
}

ordered_json summary_of(const RunFolder& run) {
  const auto lines = metric_lines(run);
  const auto result = ordered_json::parse(read_if_there(run.result()), nullptr, false);
  std::error_code error;
  const auto modified =
      fs::last_write_time(fs::exists(run.metrics(), error) ? run.metrics() : run.recipe(), error);
  const bool writes = fs::file_time_type::clock::now() - modified < kQuiet;
  YAML::Node recipe;
  try {
    recipe = YAML::Load(read_if_there(run.recipe()));
  } catch (const YAML::Exception&) {  // someone else's file: shown without model and data
  }
  ordered_json json = {{"name", run.path().filename().string()},
                       {"model", text_at(recipe, "model", "name")},
                       {"dataset", ""},
                       {"state", writes ? "running" : "stopped"},
                       {"epochs", lines.empty() ? 0 : lines.back().value("epoch", 0)}};
  if (recipe.IsMap() && recipe["data"].IsMap())
    json["dataset"] = text_at(recipe["data"], "dataset", "name");
  json["best"] = result.is_object() ? best_of(result) : best_epoch(lines);
  if (result.is_object()) {
    json["state"] = result.value("stop_reason", "finished");
    json["epochs"] = result.value("epochs", int64_t{0});
  }
  json["modified"] = seconds_since_1970(modified);
  return json;
}

Response list_runs(const RouteContext& context) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(context.config.runs, error))
    if (is_plain_name(entry.path().filename().string())) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  auto runs = ordered_json::array();
  for (const auto& folder : folders) {
    try {
      if (const auto run = run_in(folder)) runs.push_back(summary_of(*run));
    } catch (const std::exception&) {  // files of another program, or unreadable: left out
    }
  }
  return json_response({{"runs", runs}});
}

Response metrics(const Request& request, const RouteContext& context) {
  return json_response(metric_lines(run_of(request, context)));
}

Response recipe(const Request& request, const RouteContext& context) {
  return {.type = "text/plain; charset=utf-8",
          .body = read_file(run_of(request, context).recipe())};
}

Response result(const Request& request, const RouteContext& context) {
  const auto text = read_if_there(run_of(request, context).result());
  require(!text.empty(), 404, "run '{}' has no result yet", request.path_part("name"));
  return {.body = text};
}

}  // namespace

RunFolder run_of(const Request& request, const RouteContext& context) {
  const auto& name = request.path_part("name");
  const auto run = is_plain_name(name) ? run_in(context.config.runs / name) : std::nullopt;
  require(run.has_value(), 404, "run '{}' is not known; see /v1/runs", name);
  return *run;
}

int64_t seconds_since_1970(fs::file_time_type time) {
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

void add_run_routes(Router& router, const RouteContext& context) {
  router.add({"GET", "/v1/runs", [&](const Request&) { return list_runs(context); }});
  router.add(
      {"GET", "/v1/runs/{name}/metrics", [&](const Request& r) { return metrics(r, context); }});
  router.add(
      {"GET", "/v1/runs/{name}/recipe", [&](const Request& r) { return recipe(r, context); }});
  router.add(
      {"GET", "/v1/runs/{name}/result", [&](const Request& r) { return result(r, context); }});
}

}  // namespace vitrine::serve
