#include "vitrine/train/run_result.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

// JSON has no NaN: the loss of a network that diverged is null, and so is an accuracy where answers
// are not simply right or wrong.
void read(const nlohmann::json& json, double& value) {
  value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
template <typename T>
void read(const nlohmann::json& json, T& value) {
  json.get_to(value);
}

template <typename Outcome, typename Visitor>
void visit(Outcome& o, const Visitor& v) {
  v("end", o.end);
  v("epochs", o.epochs);
  v("steps", o.steps);
  v("seconds", o.seconds);
  v("accuracy", o.accuracy);
  v("loss", o.loss);
  v("validation_accuracy", o.validation_accuracy);
  v("parameters", o.parameters);
  v("checkpoint_bytes", o.checkpoint_bytes);
}

}  // namespace

void write_run_outcome(const fs::path& file, const RunOutcome& outcome) {
  nlohmann::ordered_json json;
  visit(outcome, [&](const char* key, const auto& value) { json[key] = value; });
  write_file_atomically(file, json.dump(2) + "\n");
}

RunOutcome read_run_outcome(const fs::path& file) {
  RunOutcome outcome;
  try {
    const auto json = nlohmann::json::parse(read_file(file));
    visit(outcome, [&](const char* key, auto& value) { read(json.at(key), value); });
  } catch (const nlohmann::json::exception& e) {
    fail("run result: {} is not the result of a run ({}); remove its folder and make the run again",
         file.string(), e.what());
  }
  return outcome;
}

}  // namespace vitrine
