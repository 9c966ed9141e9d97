#include <fmt/format.h>
#include <torch/torch.h>

#include <numeric>

#include "vitrine/core/image_files.h"
#include "vitrine/data/image_batches.h"
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
    for (const auto& picture : pictures_of(config_, bytes)) {
      set.files.push_back(fmt::format("{}/{}-{}.png", below_, name, set.files.size()));
      write_png(folder_ / set.files.back(), picture);
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
  const auto model = load_byte_model(run);
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
