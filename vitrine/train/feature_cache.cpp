#include "vitrine/train/feature_cache.h"

#include <torch/torch.h>
#include <xxhash.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/loader.h"
#include "vitrine/formats/safetensors.h"
#include "vitrine/models/model.h"
#include "vitrine/train/freeze.h"
#include "vitrine/weights/load.h"

namespace vitrine {
namespace {

constexpr const char *kKey = "key", *kSeconds = "seconds";

std::string hex_hash(const void* bytes, size_t count) {
  return fmt::format("{:016x}", XXH3_64bits(bytes, count));
}

std::optional<FeatureSet> stored_features(const fs::path& file, const FeatureRequest& request,
                                          int64_t size) {
  if (!fs::exists(file)) return std::nullopt;
  const auto stored = load_safetensors(file);
  const auto* features = stored.find("features");
  const auto* targets = stored.find("targets");
  const auto key = stored.metadata.find(kKey);
  check(features != nullptr && targets != nullptr && key != stored.metadata.end() &&
            key->second == request.key && features->size(0) == size && targets->size(0) == size,
        "features: {} holds other features than its name says; remove it", file.string());
  return FeatureSet{.features = *features,
                    .targets = *targets,
                    .from_cache = true,
                    .seconds = std::stod(stored.metadata.at(kSeconds))};
}

}  // namespace

std::string backbone_checksum(Model& model) {
  const auto head = head_parameters(model);
  std::string hashes;
  for (const auto& [name, weight] : named_weights(model)) {
    if (std::any_of(head.begin(), head.end(),
                    [&tensor = weight](const auto& part) { return part.is_same(tensor); }))
      continue;
    const auto bytes = weight.detach().cpu().contiguous();
    hashes += name + hex_hash(bytes.data_ptr(), bytes.nbytes());
  }
  return hex_hash(hashes.data(), hashes.size());
}

std::optional<FeatureSet> cached_features(const BatchSource& source, const FeatureFunction& compute,
                                          const FeatureRequest& request) {
  const auto name = hex_hash(request.key.data(), request.key.size()) + ".safetensors";
  const auto file = request.cache / name;
  const auto size = source.size();
  if (auto stored = stored_features(file, request, size)) return stored;
  make_folder(request.cache);
  const torch::NoGradGuard no_grad;
  Loader loader(source, {.batch = request.batch, .workers = request.workers});
  Progress progress(request.label, size, "images");
  FeatureSet set;
  for (int64_t done = 0; done < size;) {
    if (interrupted()) return std::nullopt;
    const auto batch = loader.next();
    const auto rows = compute(batch->inputs.to(request.device)).cpu();
    if (done == 0) {
      auto shape = rows.sizes().vec();
      shape[0] = size;
      set.features = torch::empty(shape);
      set.targets = torch::empty({size}, torch::kInt64);
    }
    set.features.narrow(0, done, batch->size()).copy_(rows);
    set.targets.narrow(0, done, batch->size()).copy_(batch->targets);
    progress.update(done += batch->size());
  }
  set.seconds = progress.seconds();
  save_safetensors(file,
                   {.tensors = {{"features", set.features}, {"targets", set.targets}},
                    .metadata = {{kKey, request.key}, {kSeconds, fmt::format("{}", set.seconds)}}});
  return set;
}

}  // namespace vitrine
