#include "vitrine/infer/classifier.h"

#include <torch/torch.h>

#include <map>
#include <mutex>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/data/loader.h"
#include "vitrine/infer/device.h"
#include "vitrine/infer/precision.h"
#include "vitrine/infer/thread_choice.h"
#include "vitrine/infer/top_predictions.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

constexpr int64_t kFilesPerBatch = 32, kReaders = 2;

/// The rows of (B, C) as vectors.
std::vector<std::vector<float>> rows_of(const torch::Tensor& matrix) {
  const auto values = matrix.to(torch::kCPU, torch::kFloat).contiguous();
  const auto B = values.size(0), C = values.size(1);
  const auto* first = values.data_ptr<float>();
  std::vector<std::vector<float>> rows;
  for (int64_t b = 0; b < B; ++b) rows.emplace_back(first + b * C, first + (b + 1) * C);
  return rows;
}

/// Image files as a network's inputs, (B, C, H, W); those that cannot be read are 0 and noted.
class FileBatches : public BatchSource {
 public:
  FileBatches(const std::vector<fs::path>& files, const Preprocess& how)
      : files_(files), how_(how) {}

  int64_t size() const override { return std::ssize(files_); }
  Batch load(const std::vector<int64_t>& indices, int64_t /*epoch*/) const override {
    std::vector<torch::Tensor> inputs;
    for (const auto index : indices) inputs.push_back(input_of(index));
    return {torch::stack(inputs), torch::tensor(indices, torch::kLong)};
  }
  /// Why a file that was loaded could not be read; empty if it could.
  std::string error(int64_t index) const {
    const std::lock_guard lock(mutex_);
    const auto found = errors_.find(index);
    return found == errors_.end() ? "" : found->second;
  }

 private:
  torch::Tensor input_of(int64_t index) const {
    const auto& file = files_.at(index);
    try {
      return preprocess(read_image(file), how_);
    } catch (const Error& e) {
      note(index, e.what());
    } catch (const std::exception& e) {  // of the file system or for want of memory
      note(index, fmt::format("{}: {}", file.string(), e.what()));
    }
    return torch::zeros({how_.channels, how_.image, how_.image});
  }
  void note(int64_t index, const std::string& error) const {
    const std::lock_guard lock(mutex_);
    errors_[index] = error;
  }

  const std::vector<fs::path>& files_;
  const Preprocess& how_;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::string> errors_;
};

}  // namespace

struct Classifier::Loaded {
  LoadedCheckpoint checkpoint;
  torch::Device device;
  AdaptiveThreads threads{};

  /// The logits (B, N) of inputs (B, C, H, W).
  torch::Tensor logits(const torch::Tensor& inputs) {
    return threads.run(inputs.size(0), [&] { return checkpoint.model->forward(inputs); });
  }
  const Preprocess& how() const { return *checkpoint.info.preprocess; }
  /// The images as one input, (B, C, H, W).
  torch::Tensor input_of(const std::vector<Image>& images) const {
    std::vector<torch::Tensor> inputs;
    for (const auto& image : images) inputs.push_back(preprocess(image, how()));
    return torch::stack(inputs).to(device);
  }
};

Classifier::Classifier(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
Classifier::Classifier(Classifier&&) noexcept = default;
Classifier& Classifier::operator=(Classifier&&) noexcept = default;
Classifier::~Classifier() = default;

Classifier Classifier::load(const fs::path& run_or_checkpoint, const std::string& device,
                            Precision precision) {
  std::unique_ptr<Loaded> loaded(
      new Loaded{load_checkpoint(run_or_checkpoint, FileMemory::Borrow), open_device(device)});
  const auto& [model, info] = loaded->checkpoint;
  check(model->image_shape().has_value(), "predict: {} ({}) does not take images; {}",
        run_or_checkpoint.string(), info.model.name(),
        model->task() == Task::DigitSum ? "give it sums such as 57+68"
                                        : "choose an image classifier or an addition model");
  loaded->checkpoint.model->to(loaded->device);
  prepare_for_inference(*model, precision, info.model.name());
  return Classifier(std::move(loaded));
}

const std::vector<std::string>& Classifier::classes() const {
  return loaded_->checkpoint.info.classes;
}

std::vector<Prediction> Classifier::classify(const Image& image, int64_t k) const {
  return classify_batch({image}, k)[0];
}

std::vector<Prediction> Classifier::classify_file(const fs::path& path, int64_t k) const {
  return classify(read_image(path), k);
}

std::vector<std::vector<Prediction>> Classifier::classify_batch(const std::vector<Image>& images,
                                                                int64_t k) const {
  if (images.empty()) return {};
  const torch::InferenceMode no_gradients;
  return top_predictions(loaded_->logits(loaded_->input_of(images)), classes(), k);
}

void Classifier::classify_files(const std::vector<fs::path>& files, int64_t k,
                                const std::function<void(const FilePredictions&)>& take) const {
  const torch::InferenceMode no_gradients;
  const FileBatches source(files, loaded_->how());
  Loader loader(source, {.batch = kFilesPerBatch, .workers = kReaders});
  int64_t index = 0;
  while (const auto batch = loader.next()) {
    const auto logits = loaded_->logits(batch->inputs.to(loaded_->device));  // (B, N)
    for (auto& predictions : top_predictions(logits, classes(), k)) {
      FilePredictions result{.file = files[index], .error = source.error(index)};
      if (result.error.empty()) result.predictions = std::move(predictions);
      take(result);
      ++index;
    }
  }
}

std::vector<std::vector<float>> Classifier::logits_batch(const std::vector<Image>& images) const {
  if (images.empty()) return {};
  const torch::InferenceMode no_gradients;
  return rows_of(loaded_->logits(loaded_->input_of(images)));  // (B, N)
}

std::vector<float> Classifier::logits(const Image& image) const { return logits_batch({image})[0]; }

std::vector<std::vector<float>> Classifier::features_batch(const std::vector<Image>& images) const {
  if (images.empty()) return {};
  const torch::InferenceMode no_gradients;
  return rows_of(loaded_->checkpoint.model->features(loaded_->input_of(images)));  // (B, C)
}

std::vector<float> Classifier::features(const Image& image) const {
  return features_batch({image})[0];
}

}  // namespace vitrine
