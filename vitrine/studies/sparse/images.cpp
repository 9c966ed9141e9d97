#include <fmt/format.h>
#include <torch/torch.h>

#include <numeric>

#include "vitrine/core/image_files.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/generator.h"
#include "vitrine/models/decoder.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::sparse {
namespace {

constexpr int64_t kSamples = 16, kCompletions = 8;

/// Writes rows of (N, T) bytes as image files.
class ImageFiles {
 public:
  ImageFiles(const Generator& generator, fs::path folder, std::string below)
      : generator_(generator), folder_(std::move(folder)), below_(std::move(below)) {
    make_folder(folder_ / below_);
  }

  ImageSet write(const std::string& name, const std::string& title, const torch::Tensor& bytes) {
    ImageSet set{.name = name, .title = title};
    for (const auto& image : generator_.images_of(bytes)) {
      set.files.push_back(fmt::format("{}/{}-{}.png", below_, name, set.files.size()));
      write_png(folder_ / set.files.back(), image);
    }
    return set;
  }

 private:
  const Generator& generator_;
  fs::path folder_;
  std::string below_;
};

/// The first images of the run's test part: (N, T) bytes.
torch::Tensor test_bytes(const fs::path& run) {
  const auto recipe = read_recipe(RunFolder::open(run).recipe().string(), {});
  const auto data = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
  std::vector<int64_t> first(std::min(kCompletions, data.test->size()));
  std::iota(first.begin(), first.end(), 0);
  return data.test->load(first, /*epoch=*/-1).inputs;
}

}  // namespace

ImagesPart make_images(const fs::path& run, const fs::path& folder, const std::string& below) {
  const auto generator = Generator::load(run);
  ImageFiles files(generator, folder, below);
  ImagesPart part;
  for (const double temperature : {1.0, 0.9})
    part.sets.push_back(
        files.write(fmt::format("samples-{}", temperature),
                    fmt::format("Made up from nothing, temperature {}", temperature),
                    generator.sample({.count = kSamples, .temperature = temperature})));
  const auto whole = test_bytes(run);
  const auto kept = generator.decoder().context() / 2;
  constexpr int64_t kGrey = 128;
  auto upper = whole.clone();
  upper.narrow(1, kept, upper.size(1) - kept).fill_(kGrey);
  part.sets.push_back(files.write("given", "The upper halves of test images", upper));
  part.sets.push_back(
      files.write("completed", "Completed by the network, temperature 1",
                  generator.sample({.count = whole.size(0), .prefix = whole.narrow(1, 0, kept)})));
  part.sets.push_back(files.write("truth", "The test images themselves", whole));
  return part;
}

}  // namespace vitrine::sparse
