#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/data/process.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/studies/sparse/growth.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/studies/sparse/models.h"
#include "vitrine/studies/sweep_worker.h"

namespace vitrine::sparse {
namespace {

constexpr double kMaxStepBytes = 12e9;

/// Asks `vitrine bench train`, so that the peaks of different ways do not mix.
StepCost bench_step(const std::string& model, std::vector<std::string> overrides,
                    const std::string& pattern, bool recompute, int64_t threads) {
  overrides.push_back("pattern.kind=" + pattern);
  std::vector<std::string> command = {this_program(),
                                      "bench",
                                      "train",
                                      "--model",
                                      model,
                                      "--batch",
                                      "1",
                                      "--seconds",
                                      "0",
                                      "--threads",
                                      fmt::format("{}", threads),
                                      "--json"};
  if (recompute) command.push_back("--recompute");
  command.insert(command.end(), overrides.begin(), overrides.end());
  const auto process = run_process(command, fs::current_path());
  const auto& text = process.output;
  const auto brace = text.rfind("\n{");  // talk may stand before the result
  const auto json = nlohmann::json::parse(brace == text.npos ? text : text.substr(brace), nullptr,
                                          /*allow_exceptions=*/false);
  check(process.status == 0 && json.is_object(), "study sparse: '{}' failed: {}",
        fmt::join(command, " "), text);
  return {pattern, recompute, 1e-3 * json["ms_per_step"].get<double>(),
          json["peak_bytes"].get<int64_t>()};
}

}  // namespace

StepPart measure_step(const std::string& model, const std::vector<std::string>& overrides) {
  StepPart part{.model = model, .threads = torch::get_num_threads()};
  {
    const auto choice = read_model("name: " + model, overrides, "study sparse");
    const auto c = sparse_config(choice);
    part.size = {.layers = c.layers, .dim = c.dim, .key_width = c.key_width, .hidden = c.hidden};
    part.size.parameters = parameter_count(*choice.build());
    part.tokens = c.length();
  }
  const auto measured = [&](const char* pattern, bool recompute) {
    return bench_step(model, overrides, pattern, recompute, part.threads);
  };
  part.sparse = measured("strided", /*recompute=*/true);
  part.dense = measured("dense", /*recompute=*/true);
  if (bytes_without_recompute(part.size, part.tokens) <= kMaxStepBytes)
    part.all_kept = measured("strided", /*recompute=*/false);
  return part;
}

}  // namespace vitrine::sparse
