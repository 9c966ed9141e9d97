// Images per second that one thread prepares, from bytes in memory to a batch of floats; with
// FOLDER (one folder of images per class) also from files there, as for training at 224 pixels.
// usage: loader_bench [OPTIONS] [FOLDER]

#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include "vitrine/data/image_batches.h"
#include "vitrine/data/registry.h"
#include "vitrine/ops/runtime.h"

namespace vitrine {
namespace {

constexpr int64_t kBatch = 128;

void prepare(benchmark::State& state, const AugmentConfig& augment, int64_t image = 0,
             const std::string& folder = "") {
  DataConfig config;
  config.dataset.choose("synthetic");  // the size of CIFAR-10's images
  if (!folder.empty())
    config.dataset = read_dataset(fmt::format("{{name: folder, path: '{}'}}", folder));
  config.augment = augment;
  config.preprocess.image = image;
  const auto train = open_data(config, 0).train;
  std::vector<int64_t> indices(kBatch);
  for (int64_t i = 0; i < kBatch; ++i) indices[i] = i % train->size();
  int64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(train->load(indices, epoch++));
  state.SetItemsProcessed(state.iterations() * kBatch);
}

const AugmentConfig kNone;
const AugmentConfig kCropFlip = {.crop_padding = 4, .flip = 0.5};
const AugmentConfig kRandAugment = {.crop_padding = 4, .flip = 0.5, .randaugment_ops = 2};
const AugmentConfig kImageNet = {.random_resized_crop = 0.08, .flip = 0.5, .randaugment_ops = 2};
const AugmentConfig kFineTuning = {
    .flip = 0.5, .rotation = 15, .brightness = 0.2, .contrast = 0.2, .saturation = 0.2, .hue = 0.1};

BENCHMARK_CAPTURE(prepare, none, kNone);
BENCHMARK_CAPTURE(prepare, crop_flip, kCropFlip);
BENCHMARK_CAPTURE(prepare, crop_flip_randaugment, kRandAugment);
BENCHMARK_CAPTURE(prepare, resize_224, kNone, 224);
BENCHMARK_CAPTURE(prepare, fine_tuning_224, kFineTuning, 224);

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  vitrine::set_up_runtime(/*threads=*/1);
  benchmark::Initialize(&argc, argv);
  if (argc > 1) {
    const auto folder = [&](const char* name, const vitrine::AugmentConfig& augment) {
      benchmark::RegisterBenchmark(
          name, [=](benchmark::State& s) { vitrine::prepare(s, augment, 224, argv[1]); });
    };
    folder("folder/resize_224_flip", {.flip = 0.5});
    folder("folder/random_resized_crop_224_randaugment", vitrine::kImageNet);
  }
  benchmark::RunSpecifiedBenchmarks();
}
