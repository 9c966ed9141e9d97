#include "vitrine/train/teacher.h"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/settings.h"
#include "vitrine/infer/device.h"
#include "vitrine/models/model.h"
#include "vitrine/train/feature_cache.h"
#include "vitrine/weights/class_names.h"

namespace vitrine {
namespace {

/// A source with a teacher's logits beside each example.
class TaughtBatches : public BatchSource {
 public:
  TaughtBatches(std::shared_ptr<const BatchSource> source, FeatureSet logits)
      : source_(std::move(source)), logits_(std::move(logits)) {}

  int64_t size() const override { return source_->size(); }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    auto batch = source_->load(indices, epoch);
    std::vector<torch::Tensor> rows;
    for (const auto index : indices) rows.push_back(logits_.row(index));
    if (!rows.empty()) batch.teacher = torch::stack(rows);  // (B, N)
    return batch;
  }

 private:
  std::shared_ptr<const BatchSource> source_;
  FeatureSet logits_;
};

/// (B, C, H, W) -> (B, C, side, side), with antialias where it shrinks.
torch::Tensor resized(const torch::Tensor& images, int64_t side, Interpolation interpolation) {
  const std::vector<int64_t> size = {side, side};
  switch (interpolation) {
    case Interpolation::Nearest:
      return at::upsample_nearest2d(images, size);
    case Interpolation::Bilinear:
      return at::_upsample_bilinear2d_aa(images, size, /*align_corners=*/false);
    case Interpolation::Bicubic:
      return at::_upsample_bicubic2d_aa(images, size, /*align_corners=*/false);
  }
  fail("teacher: interpolation {} is not known", static_cast<int>(interpolation));
}

torch::Tensor per_channel(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble).view({-1, 1, 1});
}

/// How classes that are not the same differ: "has 10 classes and the data have 100".
std::string class_difference(const std::vector<std::string>& data,
                             const std::vector<std::string>& teacher) {
  if (data.size() != teacher.size())
    return fmt::format("has {} classes and the data have {}", teacher.size(), data.size());
  size_t i = 0;
  while (i < data.size() && data[i] == teacher[i]) ++i;
  return fmt::format("has other classes: class {} is '{}', that of the data '{}'", i, teacher.at(i),
                     data.at(i));
}

}  // namespace

Teacher::Teacher(LoadedCheckpoint checkpoint, const Preprocess& images, const torch::Device& device)
    : loaded_(std::move(checkpoint)), device_(device), side_(images.image) {
  auto& model = *loaded_.model;
  model.to(device_);
  model.eval();
  for (auto& parameter : model.parameters()) parameter.requires_grad_(false);
  const auto& own = loaded_.info.preprocess.value();
  if (own.mean != images.mean || own.std != images.std) {
    const auto options = torch::TensorOptions(torch::kFloat).device(device_);
    const auto mean = per_channel(own.mean), std = per_channel(own.std);
    scale_ = (per_channel(images.std) / std).to(options);
    shift_ = ((per_channel(images.mean) - mean) / std).to(options);
  }
  const auto settings = to_yaml(loaded_.info.model) + to_yaml(own) + to_yaml(images);
  auto decisive = named_weights(model);
  decisive.emplace_back("settings",
                        torch::tensor(std::vector<uint8_t>(settings.begin(), settings.end())));
  checksum_ = checksum_of(decisive);
}

torch::Tensor Teacher::view_of(const torch::Tensor& images) const {
  const auto& own = *loaded_.info.preprocess;
  const auto same_scale = scale_.defined() ? images * scale_ + shift_ : images;
  return images.size(2) == own.image ? same_scale
                                     : resized(same_scale, own.image, own.interpolation);
}

torch::Tensor Teacher::logits(const torch::Tensor& images) const {
  const torch::NoGradGuard no_grad;
  // Logits that were computed before the run are not those of bfloat16, either.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return loaded_.model->forward(view_of(images));
}

std::string Teacher::description() const {
  const auto side = loaded_.info.preprocess->image;
  auto text = fmt::format("{}, {} classes", loaded_.info.model.name(), loaded_.info.classes.size());
  if (side != side_) text += fmt::format("; it sees the images resized to {} x {}", side, side);
  if (scale_.defined()) text += "; it sees them normalised as it was trained with";
  return text;
}

std::shared_ptr<const Teacher> open_teacher(const Recipe& recipe, const Splits& data,
                                            const std::string& device) {
  const auto& path = recipe.train.teacher;
  if (path.empty()) return nullptr;
  check(data.task == Task::Classes,
        "train: teacher {} is for images with classes, and data set '{}' has none; leave out "
        "train.teacher",
        path, recipe.data.dataset.name());
  check(fs::exists(path),
        "train: teacher {} does not exist; set train.teacher to a run folder, a checkpoint or "
        "published weights",
        path);
  auto loaded = load_checkpoint(path);
  const auto& info = loaded.info;
  const auto shape = loaded.model->image_shape();
  check(shape.has_value() && loaded.model->task() == Task::Classes && info.preprocess.has_value(),
        "train: teacher {} is a '{}', which does not classify images; choose an image classifier",
        path, info.model.name());
  if (!are_same_classes(data.classes, info.classes))
    fail("train: teacher {} {}; train it on these data first, or fine-tune it (init)", path,
         class_difference(data.classes, info.classes));
  const auto images = preprocess_of(recipe.data).value();
  check(shape->channels == images.channels,
        "train: teacher {} takes images of {}, and data set '{}' has {}; choose another teacher",
        path, counted(shape->channels, "channel"), recipe.data.dataset.name(),
        counted(images.channels, "channel"));
  return std::make_shared<Teacher>(std::move(loaded), images, open_device(device));
}

std::optional<Splits> with_teacher_logits(const Recipe& recipe, const Splits& data,
                                          const Teacher& teacher, const fs::path& cache,
                                          const std::function<void(const std::string&)>& say) {
  auto logits =
      cached_features(*data.train, [&](const torch::Tensor& x) { return teacher.logits(x); },
                      {.cache = cache,
                       .key = fmt::format("teacher: {}\n{}", teacher.checksum(),
                                          examples_key(recipe, split_name(Split::Train))),
                       .label = "teacher",
                       .batch = recipe.data.batch,
                       .workers = recipe.data.workers,
                       .device = teacher.device()});
  if (!logits) return std::nullopt;
  say(fmt::format("teacher's logits of {} images: {} {}", data.train->size(),
                  logits->from_cache ? "from the cache; computing them took" : "computed in",
                  duration_text(logits->seconds)));
  auto taught = data;
  taught.train = std::make_shared<TaughtBatches>(data.train, *std::move(logits));
  return taught;
}

}  // namespace vitrine
