#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/files.h"
#include "vitrine/train/metrics.h"

// Ten training steps of one small recipe per model family and task: their losses and gradient norms
// must stay what golden.json holds. VITRINE_GOLDEN=record writes the file again;
// VITRINE_GOLDEN=exact asks for the same bits, which only the machine that recorded it can give
// (another CPU rounds differently).

namespace vitrine {
namespace {

constexpr size_t kSteps = 10;
constexpr double kTolerance = 1e-3;  // relative, after ten steps on another CPU

const fs::path kFolder = fs::path(VITRINE_SOURCE_DIR) / "tests" / "golden";

bool mode_is(const char* mode) {
  const char* set = std::getenv("VITRINE_GOLDEN");
  return set != nullptr && std::string(set) == mode;
}

std::vector<std::string> golden_recipes() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// {"loss": [...], "gradient_norm": [...]} of the first steps.
nlohmann::ordered_json first_steps(const std::string& name) {
  const test::TemporaryFolder folder;
  const auto run = folder / "run";
  const auto done = test::run_command(
      {"train", (kFolder / (name + ".yaml")).string(), "--run", run.string(), "--threads", "1"});
  EXPECT_EQ(done.code, 0) << done.err;
  nlohmann::ordered_json values = {{"loss", nlohmann::json::array()},
                                   {"gradient_norm", nlohmann::json::array()}};
  if (done.code != 0) return values;
  for (const auto& line : read_metrics(run / "metrics.jsonl"))
    if (line.kind == "step" && values["loss"].size() < kSteps)
      for (auto& [key, list] : values.items()) list.push_back(line.value(key));
  return values;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, StepsAreThoseOfTheRecord) {
  fs::current_path(VITRINE_SOURCE_DIR);
  const auto steps = first_steps(GetParam());
  ASSERT_EQ(steps["loss"].size(), kSteps);
  const auto path = kFolder / "golden.json";
  auto record = fs::exists(path) ? nlohmann::ordered_json::parse(read_file(path))
                                 : nlohmann::ordered_json::object();
  if (mode_is("record")) {
    record[GetParam()] = steps;
    write_file_atomically(path, record.dump(1) + "\n");
    return;
  }
  ASSERT_TRUE(record.contains(GetParam())) << "record it with VITRINE_GOLDEN=record";
  const double tolerance = mode_is("exact") ? 0 : kTolerance;
  for (const auto* key : {"loss", "gradient_norm"})
    for (size_t i = 0; i < kSteps; ++i) {
      const double was = record[GetParam()][key][i], is = steps[key][i];
      EXPECT_LE(std::abs(is - was), tolerance * std::abs(was))
          << key << " of step " << i + 1 << ": " << is << ", recorded " << was;
    }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  auto name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Recipes, Golden, testing::ValuesIn(golden_recipes()), test_name);

}  // namespace
}  // namespace vitrine
