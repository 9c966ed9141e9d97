#include <fmt/format.h>
#include <torch/torch.h>

#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/formats/checkpoint.h"
#include "vitrine/infer/sampler.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::sparse {
namespace {

constexpr int64_t kSamples = 16, kCompletions = 8;

/// Writes rows of (N, T) bytes as picture files.
class PictureFiles {
 public:
  PictureFiles(const SparseTransformerConfig& config, fs::path folder, std::string below)
      : config_(config), folder_(std::move(folder)), below_(std::move(below)) {
    make_folder(folder_ / below_);
  }

  PictureSet write(const std::string& name, const std::string& title, const torch::Tensor& bytes) {
    PictureSet set{.name = name, .title = title};
    for (int64_t i = 0; i < bytes.size(0); ++i) {
      Image image(config_.columns, config_.rows, config_.channels);
      const auto row = bytes[i].contiguous();
      std::copy_n(row.data_ptr<int64_t>(), row.numel(), image.pixels.begin());
      set.files.push_back(fmt::format("{}/{}-{}.png", below_, name, i));
      write_png(folder_ / set.files.back(), image);
    }
    return set;
  }

 private:
  const SparseTransformerConfig& config_;
  fs::path folder_;
  std::string below_;
};

/// The first pictures of the run's test part: (N, T) bytes.
torch::Tensor test_bytes(const fs::path& run) {
  const auto recipe = read_recipe(RunFolder::open(run).recipe().string(), {});
  const auto data = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
  std::vector<int64_t> first(std::min(kCompletions, data.test->size()));
  std::iota(first.begin(), first.end(), 0);
  return data.test->load(first, /*epoch=*/-1).inputs;
}

}  // namespace

PicturesPart make_pictures(const fs::path& run, const fs::path& folder, const std::string& below) {
  const auto model = std::dynamic_pointer_cast<SparseTransformer>(load_checkpoint(run).model);
  check(model != nullptr, "study sparse: {} is no run of a sparse transformer", run.string());
  PictureFiles files(model->config, folder, below);
  PicturesPart part;
  for (const double temperature : {1.0, 0.9})
    part.sets.push_back(
        files.write(fmt::format("samples-{}", temperature),
                    fmt::format("Made up from nothing, temperature {}", temperature),
                    sample_bytes(model, {.count = kSamples, .temperature = temperature})));
  const auto whole = test_bytes(run);
  const auto kept = model->config.length() / 2;
  constexpr int64_t kGrey = 128;
  auto upper = whole.clone();
  upper.narrow(1, kept, upper.size(1) - kept).fill_(kGrey);
  part.sets.push_back(files.write("given", "The upper halves of test pictures", upper));
  part.sets.push_back(files.write(
      "completed", "Completed by the network, temperature 1",
      sample_bytes(model, {.count = whole.size(0), .given = whole.narrow(1, 0, kept)})));
  part.sets.push_back(files.write("truth", "The test pictures themselves", whole));
  return part;
}

}  // namespace vitrine::sparse
