#include "vitrine/infer/classifier.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/infer/top_predictions.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {

struct Classifier::Loaded {
  LoadedCheckpoint checkpoint;
  torch::Device device;
};

Classifier::Classifier(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
Classifier::Classifier(Classifier&&) noexcept = default;
Classifier& Classifier::operator=(Classifier&&) noexcept = default;
Classifier::~Classifier() = default;

Classifier Classifier::load(const fs::path& run_or_checkpoint, const std::string& device) {
  auto loaded =
      std::make_unique<Loaded>(Loaded{load_checkpoint(run_or_checkpoint), open_device(device)});
  const auto& [model, info] = loaded->checkpoint;
  check(model->image_shape().has_value(), "predict: {} ({}) does not take images; {}",
        run_or_checkpoint.string(), info.model.name(),
        model->task() == Task::DigitSum ? "give it sums such as 57+68"
                                        : "choose an image classifier or an addition model");
  loaded->checkpoint.model->to(loaded->device);
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
  const auto& [model, info] = loaded_->checkpoint;
  std::vector<torch::Tensor> inputs;
  for (const auto& image : images) inputs.push_back(preprocess(image, *info.preprocess));
  const auto logits = model->forward(torch::stack(inputs).to(loaded_->device));  // (B, N)
  return top_predictions(logits, info.classes, k);
}

}  // namespace vitrine
