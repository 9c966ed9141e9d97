#include "vitrine/train/run_result.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

struct StopReasonWords {
  StopReason reason;
  const char *name, *text;
};

constexpr std::array kStopReasons = {
    StopReasonWords{StopReason::Finished, "finished", "done"},
    StopReasonWords{StopReason::StoppedEarly, "stopped_early", "stopped early"},
    StopReasonWords{StopReason::ReachedGoal, "reached_goal", "reached its goal"},
    StopReasonWords{StopReason::OverBudget, "over_budget", "stopped at its time budget"},
    StopReasonWords{StopReason::Interrupted, "interrupted", "interrupted"}};

const StopReasonWords& words_of(StopReason reason) {
  const auto found = std::find_if(kStopReasons.begin(), kStopReasons.end(),
                                  [&](const auto& words) { return words.reason == reason; });
  check(found != kStopReasons.end(), "run result: stop reason {} has no name",
        static_cast<int>(reason));
  return *found;
}

StopReason stop_reason_named(const std::string& name, const fs::path& file) {
  const auto found = std::find_if(kStopReasons.begin(), kStopReasons.end(),
                                  [&](const auto& words) { return words.name == name; });
  check(found != kStopReasons.end(),
        "run result: {} is not the result of a run ('{}' is no stop reason)", file.string(), name);
  return found->reason;
}

constexpr const char* kChecksum = "checksum";

/// The XXH3 of all that is stored but itself.
std::string result_checksum(const nlohmann::ordered_json& json) {
  const auto text = json.dump();
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace

std::string stop_reason_name(StopReason reason) { return words_of(reason).name; }
std::string stop_reason_text(StopReason reason) { return words_of(reason).text; }

void write_run_outcome(const fs::path& file, const RunOutcome& o) {
  nlohmann::ordered_json json = {{"stop_reason", stop_reason_name(o.stop_reason)},
                                 {"epochs", o.epochs},
                                 {"steps", o.steps},
                                 {"seconds", o.seconds},
                                 {"selection_metric", o.selection_metric.name},
                                 {"unit", o.selection_metric.unit},
                                 {"higher_is_better", o.selection_metric.higher_is_better},
                                 {"log_scale", o.selection_metric.log_scale},
                                 {"validation", metrics_json(o.validation)},
                                 {"test", metrics_json(o.test)},
                                 {"parameters", o.parameters},
                                 {"checkpoint_bytes", o.checkpoint_bytes},
                                 {"peak_bytes", o.peak_bytes}};
  json[kChecksum] = result_checksum(json);
  write_file_atomically(file, json.dump(2) + "\n");
}

RunOutcome read_run_outcome(const fs::path& file) {
  try {
    auto json = nlohmann::ordered_json::parse(read_file(file));
    if (json.contains(kChecksum)) {  // older results have none
      const auto stated = json.at(kChecksum).get<std::string>();
      json.erase(kChecksum);
      check(stated == result_checksum(json),
            "run result: {} is damaged: its checksum is not {}; remove its folder and make the run "
            "again",
            file.string(), stated);
    }
    return {.stop_reason = stop_reason_named(json.at("stop_reason"), file),
            .selection_metric = {.name = json.at("selection_metric"),
                                 .unit = json.at("unit"),
                                 .higher_is_better = json.at("higher_is_better"),
                                 .log_scale = json.at("log_scale")},
            .validation = metrics_of_json(json.at("validation")),
            .test = metrics_of_json(json.at("test")),
            .epochs = json.at("epochs"),
            .steps = json.at("steps"),
            .seconds = json.at("seconds"),
            .parameters = json.at("parameters"),
            .checkpoint_bytes = json.at("checkpoint_bytes"),
            .peak_bytes = json.value("peak_bytes", int64_t{0}),  // older results have none
            .folder = file.parent_path()};
  } catch (const nlohmann::json::exception& e) {
    fail("run result: {} is not the result of a run ({}); remove its folder and make the run again",
         file.string(), e.what());
  }
}

}  // namespace vitrine
