#include <fmt/format.h>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::sparse {
namespace {

/// A network of the smoke test: 8 x 8 pixels, one narrow block.
const std::vector<std::string> kSmokeModel = {"rows=8",  "columns=8",    "layers=1",  "dim=32",
                                              "heads=2", "key_width=16", "hidden=32", "dropout=0"};
constexpr int64_t kSmokeTokens = int64_t{8} * 8 * 3;

/// Bytes to learn from where there are no images: slow waves with some noise.
fs::path write_smoke_bytes(const fs::path& folder) {
  constexpr int64_t kSequences = 40, kNoise = 16;
  Random random{1};
  std::string bytes;
  for (int64_t i = 0; i < kSequences * kSmokeTokens; ++i)
    bytes.push_back(
        static_cast<char>(i / kSmokeTokens * 5 + i % kSmokeTokens / 2 + random.below(kNoise)));
  const auto file = fs::absolute(folder / "smoke.bytes");
  write_file_atomically(file, bytes);
  return file;
}

/// The sweep at a size that a test can run, without images of a data set.
SweepConfig smoke_sweep(SweepConfig config, const fs::path& bytes) {
  std::vector<std::string> settings = {"data.dataset=bytes",
                                       "data.dataset.file=" + bytes.string(),
                                       fmt::format("data.dataset.length={}", kSmokeTokens),
                                       "data.validation=0.2",
                                       "data.batch=4",
                                       "train.epochs=2",
                                       "train.log_steps=1"};
  for (const auto& setting : kSmokeModel) settings.push_back("model." + setting);
  for (const auto& setting : settings) {
    const auto key = setting.substr(0, setting.find('='));
    put_setting(config.set, key, setting.substr(key.size() + 1));
  }
  return config;
}

void train_part(const StudyOptions& o, const std::string& part, SparseStudy& study) {
  const auto file = o.sweeps / (part + ".yaml");
  auto config = part_config(o, file);
  if (o.smoke) config = smoke_sweep(std::move(config), write_smoke_bytes(o.out));
  if (const auto result = run_part(o, part, file, config))
    study.trained[part] = collect_curves(config, *result);
}

/// The run whose network generates images; null if there is none.
const SweepRun* best_run(const SparseStudy& study) {
  const auto part = study.trained.find("best");
  if (part == study.trained.end() || part->second.runs[0].result.failed()) return nullptr;
  return &part->second.runs[0].result;
}

}  // namespace

SparseStudy run_sparse_study(const StudyOptions& o) {
  check_parts(o, "sparse", sparse_parts());
  make_folder(o.out);
  SparseStudy study;
  study.cost = measured_part<CostPart>(o, "cost", [&] {
    return o.smoke ? measure_cost({256, 512}, /*rounds=*/1)
                   : measure_cost({3072, 6144, 12288, 24576, 49152}, /*rounds=*/5);
  });
  study.step = measured_part<StepPart>(o, "step", [&] {
    return o.smoke ? measure_step("sparse_c10_tiny", kSmokeModel) : measure_step("sparse_c10", {});
  });
  study.sampling = measured_part<SamplingPart>(o, "sampling", [&] {
    return o.smoke ? measure_sampling({"sparse_c10_tiny"}, kSmokeModel, {1, 2})
                   : measure_sampling({"sparse_c10_tiny", "sparse_c10_small"}, {}, {1, 16});
  });
  for (const auto* part : {"patterns", "orders", "strides", "best"}) train_part(o, part, study);
  const auto* best = best_run(study);
  check(best || !o.names("images"),
        "study sparse: the images are those of the part 'best', which has no finished run; --parts "
        "best,images makes both");
  if (best)
    study.images = measured_part<ImagesPart>(
        o, "images",
        [&] { return generate_images(best->folder, o.out, o.smoke ? "images-smoke" : "images"); },
        {RunFolder::open(best->folder).best()});
  return study;
}

}  // namespace vitrine::sparse
