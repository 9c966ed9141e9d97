#include "vitrine/train/feature_cache.h"

#include <torch/torch.h>
#include <xxhash.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/loader.h"

namespace vitrine {
namespace {

constexpr const char *kKey = "key", *kSeconds = "seconds";
constexpr double kLargestHalf = 65504;

std::string hex_hash(const void* bytes, size_t count) {
  return fmt::format("{:016x}", XXH3_64bits(bytes, count));
}

/// Some consecutive examples of a source.
class SourcePart : public BatchSource {
 public:
  SourcePart(const BatchSource& source, int64_t first, int64_t count)
      : source_(source), first_(first), count_(count) {}
  int64_t size() const override { return count_; }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    auto shifted = indices;
    for (auto& index : shifted) index += first_;
    return source_.load(shifted, epoch);
  }

 private:
  const BatchSource& source_;
  int64_t first_, count_;
};

struct FeaturePart {
  torch::Tensor features, targets;
  double seconds = 0;
};

/// Nothing if the file is missing or damaged: its features are computed again then.
std::optional<FeaturePart> stored_part(const fs::path& file, const std::string& key, int64_t rows) {
  if (!fs::exists(file)) return std::nullopt;
  TensorFile stored;
  try {
    stored = load_safetensors(file);
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto* features = stored.find("features");
  const auto* targets = stored.find("targets");
  const auto found = stored.metadata.find(kKey);
  check(features != nullptr && targets != nullptr && found != stored.metadata.end() &&
            found->second == key && features->size(0) == rows && targets->size(0) == rows,
        "features: {} holds other features than its name says; remove it", file.string());
  return FeaturePart{*features, *targets, std::stod(stored.metadata.at(kSeconds))};
}

/// Goes on with `progress` where it stands; nothing after Ctrl-C.
std::optional<FeaturePart> computed_part(const SourcePart& source, const FeatureFunction& compute,
                                         const FeatureRequest& request, int64_t first,
                                         Progress& progress) {
  const torch::NoGradGuard no_grad;
  const double began = progress.seconds();
  Loader loader(source,
                {.batch = request.batch, .epoch = request.epoch, .workers = request.workers});
  FeaturePart part;
  for (int64_t done = 0; done < source.size();) {
    if (interrupted()) return std::nullopt;
    const auto batch = loader.next();
    const auto rows = compute(batch->inputs.to(request.device)).cpu();
    check(request.dtype != torch::kHalf || rows.abs().max().item<double>() <= kLargestHalf,
          "features: values beyond {} do not fit float16; keep them in float32", kLargestHalf);
    if (done == 0) {
      auto shape = rows.sizes().vec();
      shape[0] = source.size();
      part.features = torch::empty(shape, request.dtype);
      part.targets = torch::empty({source.size()}, torch::kInt64);
    }
    part.features.narrow(0, done, batch->size()).copy_(rows);
    part.targets.narrow(0, done, batch->size()).copy_(batch->targets);
    done += batch->size();
    progress.update(first + done);
  }
  part.seconds = progress.seconds() - began;
  return part;
}

void save_part(const fs::path& file, const std::string& key, const FeaturePart& part) {
  save_safetensors(file, {.tensors = {{"features", part.features}, {"targets", part.targets}},
                          .metadata = {{kKey, key}, {kSeconds, fmt::format("{}", part.seconds)}}});
}

}  // namespace

std::string checksum_of(const NamedTensors& tensors) {
  std::string hashes;
  for (const auto& [name, tensor] : tensors) {
    const auto bytes = tensor.detach().cpu().contiguous();
    hashes += name + hex_hash(bytes.data_ptr(), bytes.nbytes());
  }
  return hex_hash(hashes.data(), hashes.size());
}

std::string examples_key(const Recipe& recipe, const std::string& split) {
  auto data = recipe.data;
  const DataConfig defaults;
  data.batch = defaults.batch;
  data.workers = defaults.workers;
  data.augment = {};
  return fmt::format("split: {}\nseed: {}\ndata:\n{}", split, recipe.seed, to_yaml(data));
}

std::optional<FeatureSet> cached_features(const BatchSource& source, const FeatureFunction& compute,
                                          const FeatureRequest& request) {
  make_folder(request.cache);
  const auto size = source.size();
  Progress progress(request.label, size, "images");
  FeatureSet set{.targets = torch::empty({size}, torch::kInt64), .from_cache = true};
  for (int64_t first = 0; first < size; first += FeatureSet::kPartRows) {
    const auto rows = std::min(FeatureSet::kPartRows, size - first);
    const auto key = fmt::format("{}\nexamples: {} to {}", request.key, first, first + rows);
    const auto file = request.cache / (hex_hash(key.data(), key.size()) + ".safetensors");
    auto part = stored_part(file, key, rows);
    if (part) {
      progress.start_at(first + rows);
    } else {
      part = computed_part(SourcePart(source, first, rows), compute, request, first, progress);
      if (!part) return std::nullopt;
      save_part(file, key, *part);
      part = stored_part(file, key, rows);  // mapped, so that its memory is free
      set.from_cache = false;
    }
    set.parts.push_back(part->features);
    set.targets.narrow(0, first, rows).copy_(part->targets);
    set.seconds += part->seconds;
  }
  return set;
}

}  // namespace vitrine
