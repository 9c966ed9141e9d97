#include <fmt/ranges.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/settings.h"
#include "vitrine/core/stopwatch.h"
#include "vitrine/data/examples.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/data/process.h"
#include "vitrine/infer/generator.h"
#include "vitrine/infer/precision.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/studies/sweep_worker.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::sparse {
namespace {

/// The fields that `ModelChoice` has for a sparse transformer.
struct NamedConfig {
  std::string name{};
  SparseTransformerConfig config{};

  void visit(Fields& f) {
    f("name", name, "");
    config.visit(f);
  }
};

/// Asks `vitrine bench train`, so that the peaks of different ways do not mix.
StepCost bench_step(const StepPart& part, const std::vector<std::string>& overrides,
                    const std::string& pattern, bool recompute) {
  std::vector<std::string> command = {this_program(),
                                      "bench",
                                      "train",
                                      "--json",
                                      "--batch=1",
                                      "--seconds=0",
                                      "--model=" + part.model,
                                      fmt::format("--threads={}", part.threads)};
  if (recompute) command.push_back("--recompute");
  command.insert(command.end(), overrides.begin(), overrides.end());
  command.push_back("pattern.kind=" + pattern);
  const auto process = run_process(command, fs::current_path());
  const auto& text = process.output;
  const auto brace = text.rfind("\n{");  // log messages may stand before the result
  const auto json = nlohmann::json::parse(brace == text.npos ? text : text.substr(brace), nullptr,
                                          /*allow_exceptions=*/false);
  check(process.status == 0 && json.is_object(), "study sparse: '{}' failed: {}",
        fmt::join(command, " "), text);
  return {pattern, recompute, 1e-3 * json["ms_per_step"].get<double>(),
          json["peak_bytes"].get<int64_t>()};
}

template <typename Work>
double seconds_of(const Work& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

SamplingSpeed sampling_speed(const std::shared_ptr<Model>& model, const std::string& name,
                             int64_t batch) {
  constexpr int64_t kPasses = 5;
  const Generator generator(model, name);
  const auto tokens = generator.decoder().context();
  const SampleOptions options{.count = batch};
  const double whole = seconds_of([&] { generator.sample(options); });
  // Without a cache each byte costs a pass over the whole sequence, wherever it stands.
  const torch::NoGradGuard no_grad;
  const auto input = model->example_input(batch);
  const auto one_byte = [&] {
    sample_next_token(model->forward(input).select(1, tokens - 1), options, tokens - 1);
  };
  one_byte();
  const double passes = seconds_of([&] {
    for (int64_t i = 0; i < kPasses; ++i) one_byte();
  });
  return {.model = name,
          .batch = batch,
          .tokens = tokens,
          .cached = static_cast<double>(batch * tokens) / whole,
          .uncached = static_cast<double>(batch * kPasses) / passes,
          .passes = kPasses};
}

/// The first images of the run's test set: (N, T) bytes.
torch::Tensor test_bytes(const fs::path& run, int64_t count) {
  const auto recipe = read_stored_recipe(RunFolder::open(run));
  const auto data = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
  return first_examples(*data.test, count).inputs;
}

}  // namespace

SparseTransformerConfig sparse_config(const ModelChoice& choice) {
  NamedConfig named;
  Settings::from_text(to_yaml(choice), "study sparse: " + choice.name()).read_into(named);
  return named.config;
}

StepPart measure_step(const std::string& model, const std::vector<std::string>& overrides) {
  constexpr double kMaxBytes = 12e9;
  StepPart part{.model = model, .threads = torch::get_num_threads()};
  {
    const auto choice = read_model("name: " + model, overrides, "study sparse");
    const auto c = sparse_config(choice);
    part.size = {parameter_count(*choice.build()), c.layers, c.dim, c.key_width, c.hidden};
    part.tokens = c.length();
  }
  part.sparse = bench_step(part, overrides, "strided", /*recompute=*/true);
  part.dense = bench_step(part, overrides, "dense", /*recompute=*/true);
  if (bytes_without_recompute(part.size, part.tokens) <= kMaxBytes)
    part.all_kept = bench_step(part, overrides, "strided", /*recompute=*/false);
  return part;
}

SamplingPart measure_sampling(const std::vector<std::string>& models,
                              const std::vector<std::string>& overrides,
                              const std::vector<int64_t>& batches) {
  torch::manual_seed(1);
  SamplingPart part{.threads = torch::get_num_threads()};
  for (const auto& name : models) {
    const auto model = read_model("name: " + name, overrides, "study sparse").build();
    prepare_for_inference(*model, Precision::Float32, name);
    for (const auto batch : batches) part.speeds.push_back(sampling_speed(model, name, batch));
  }
  return part;
}

ImagesPart generate_images(const fs::path& run, const fs::path& folder, const std::string& below) {
  constexpr int64_t kSamples = 16, kCompletions = 8, kGrey = 128;
  const auto generator = Generator::load(run);
  ImagesPart part;
  make_folder(folder / below);
  const auto add = [&](const std::string& name, const torch::Tensor& bytes) {  // (N, T)
    ImageSet set{.name = name};
    for (const auto& image : generator.images_of(bytes)) {
      set.files.push_back(fmt::format("{}/{}-{}.png", below, name, set.files.size()));
      write_png(folder / set.files.back(), image);
    }
    part.sets.push_back(set);
  };
  add("samples-1", generator.sample({.count = kSamples}));
  add("samples-0.9", generator.sample({.count = kSamples, .temperature = 0.9}));
  const auto whole = test_bytes(run, kCompletions);
  const auto kept = generator.decoder().context() / 2;
  auto upper = whole.clone();
  upper.narrow(1, kept, upper.size(1) - kept).fill_(kGrey);
  add("given", upper);
  add("completed", generator.sample({.count = whole.size(0), .prefix = whole.narrow(1, 0, kept)}));
  add("truth", whole);
  return part;
}

}  // namespace vitrine::sparse
