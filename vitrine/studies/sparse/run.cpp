#include "vitrine/studies/sparse/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/nearest.h"
#include "vitrine/core/random.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/studies/sparse/stored.h"
#include "vitrine/studies/sweep_runner.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::sparse {
namespace {

const std::vector<std::string> kTrained = {"patterns", "orders", "strides", "best"};

bool has(const std::vector<std::string>& list, const std::string& part) {
  return std::find(list.begin(), list.end(), part) != list.end();
}

/// A network of the smoke test: 8 x 8 pixels, one narrow block.
const std::vector<Setting> kSmokeModel = {{"rows", "8"},    {"columns", "8"}, {"layers", "1"},
                                          {"dim", "32"},    {"heads", "2"},   {"key_width", "16"},
                                          {"hidden", "32"}, {"dropout", "0"}};
constexpr int64_t kSmokeTokens = 8 * 8 * 3;

std::vector<std::string> smoke_overrides() {
  std::vector<std::string> overrides;
  for (const auto& [key, value] : kSmokeModel) overrides.push_back(key + "=" + value);
  return overrides;
}

/// Bytes to learn from where there are no images: slow waves with some noise.
fs::path write_smoke_bytes(const fs::path& folder) {
  constexpr int64_t kSequences = 40, kNoise = 16;
  Random random{1};
  std::string bytes;
  for (int64_t i = 0; i < kSequences * kSmokeTokens; ++i)
    bytes.push_back(
        static_cast<char>(i / kSmokeTokens * 5 + i % kSmokeTokens / 2 + random.below(kNoise)));
  make_folder(folder);
  const auto file = fs::absolute(folder / "smoke.bytes");
  write_file_atomically(file, bytes);
  return file;
}

/// The sweep at a size that a test can run, without images of a data set.
SweepConfig smoke_sweep(SweepConfig config, const fs::path& bytes) {
  config = smoke_size(std::move(config));
  const auto set = [&](const std::string& key, const std::string& value) {
    std::erase_if(config.set, [&](const Setting& setting) { return setting.first == key; });
    config.set.emplace_back(key, value);
  };
  for (const auto& [key, value] : kSmokeModel) set("model." + key, value);
  set("data.dataset", "bytes");
  set("data.dataset.file", bytes.string());
  set("data.dataset.length", fmt::format("{}", kSmokeTokens));
  set("data.validation", "0.2");
  set("data.batch", "4");
  set("train.epochs", "2");
  set("train.log_steps", "1");
  return config;
}

class StudyRun {
 public:
  explicit StudyRun(const SparseStudyOptions& options) : o_(options) {}

  SparseStudy run() {
    SparseStudy study;
    make_folder(o_.out);
    study.cost = measured<CostPart>("cost", [&] {
      return o_.smoke ? measure_cost({256, 512}, /*rounds=*/1)
                      : measure_cost({3072, 6144, 12288, 24576, 49152}, /*rounds=*/5);
    });
    study.step = measured<StepPart>("step", [&] {
      return o_.smoke ? measure_step("sparse_c10_tiny", smoke_overrides())
                      : measure_step("sparse_c10", {});
    });
    study.sampling = measured<SamplingPart>("sampling", [&] {
      return o_.smoke ? measure_sampling({"sparse_c10_tiny"}, smoke_overrides(), {1, 2})
                      : measure_sampling({"sparse_c10_tiny", "sparse_c10_small"}, {}, {1, 16});
    });
    for (const auto& part : kTrained) train(part, study);
    const auto* best = best_run(study);
    check(best || !is_asked("images"),
          "study sparse: the images are those of the part 'best', which has no finished run; "
          "--parts best,images makes both");
    if (best)
      study.images = measured<ImagesPart>(
          "images",
          [&] { return make_images(best->folder, o_.out, o_.smoke ? "images-smoke" : "images"); },
          RunFolder::open(best->folder).best());
    return study;
  }

 private:
  bool is_asked(const std::string& part) const { return has(o_.parts, part); }

  /// What lies in the part's file; measured first if it is asked for, missing or older than the
  /// `source` that it is made of.
  template <typename Part, typename Measure>
  std::optional<Part> measured(const std::string& name, const Measure& measure,
                               const fs::path& source = {}) const {
    const auto file = o_.out / fmt::format("{}{}.json", name, o_.smoke ? "-smoke" : "");
    const bool old = !fs::exists(file) ||
                     (!source.empty() && fs::last_write_time(file) < fs::last_write_time(source));
    const bool wanted = is_asked(name) || (o_.parts.empty() && old);
    if (wanted && !interrupted()) {
      fmt::print(stderr, "{}\n", name);
      write_part(file, measure());
    }
    return read_part<Part>(file);
  }

  void train(const std::string& part, SparseStudy& study) const {
    const auto file = o_.sweeps / (part + ".yaml");
    const auto sweep = read_sweep(file);
    const auto config = o_.smoke ? smoke_sweep(sweep, write_smoke_bytes(o_.out)) : sweep;
    SweepOptions options{.out = o_.out / "sweeps",
                         .workers = o_.workers,
                         .command = "vitrine sweep " + file.string()};
    options.only_stored = interrupted() || (!o_.parts.empty() && !is_asked(part));
    if (!options.only_stored) fmt::print(stderr, "{}\n", file.string());
    const auto result = run_sweep(config, options);
    if (!is_complete(result, config)) return;
    study.trained[part] = trained_part(config, result);
  }

  static const TrainedRun* best_run(const SparseStudy& study) {
    const auto part = study.trained.find("best");
    if (part == study.trained.end() || !part->second.runs[0].error.empty()) return nullptr;
    return &part->second.runs[0];
  }

  const SparseStudyOptions& o_;
};

}  // namespace

const std::vector<std::string>& sparse_parts() {
  static const std::vector<std::string> parts = {"cost",   "step",    "sampling", "patterns",
                                                 "orders", "strides", "best",     "images"};
  return parts;
}

SparseStudy run_sparse_study(const SparseStudyOptions& o) {
  for (const auto& part : o.parts)
    check_usage(has(sparse_parts(), part), "study sparse: part '{}' is not known{} (known: {})",
                part, did_you_mean(part, sparse_parts()), fmt::join(sparse_parts(), ", "));
  return StudyRun(o).run();
}

}  // namespace vitrine::sparse
