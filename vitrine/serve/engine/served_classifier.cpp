#include "vitrine/serve/engine/served_classifier.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/top_predictions.h"
#include "vitrine/inspect/explain.h"
#include "vitrine/inspect/explain/gradient_pass.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/head_mask.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::serve {
namespace {

constexpr int64_t kPredictions = 5;

std::vector<float> values_of(const torch::Tensor& t) {
  const auto values = t.to(torch::kFloat).contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

/// The rows of (T, D).
std::vector<std::vector<float>> rows_of(const torch::Tensor& matrix) {
  std::vector<std::vector<float>> rows;
  for (const auto& row : matrix.unbind()) rows.push_back(values_of(row));
  return rows;
}

/// The methods that work on this model, asked of a grey image.
std::vector<ExplainMethod> methods_of(const LoadedCheckpoint& checkpoint) {
  const auto& how = *checkpoint.info.preprocess;
  Image grey(how.image, how.image);
  std::fill(grey.pixels.begin(), grey.pixels.end(), 128);
  std::vector<ExplainMethod> methods;
  try {
    for (const auto& [method, map] : vitrine::explain(checkpoint, grey, {.weights = false}).maps)
      methods.push_back(method);
  } catch (const Error&) {  // it has neither attention weights nor features
  }
  return methods;
}

/// (1, H, Tq, Tk) as bytes; the greatest weight of a head is 255.
AttentionBytes bytes_of(const AttentionRecord& layer) {
  const auto weights = layer.weights[0].to(torch::kFloat);      // (H, Tq, Tk)
  const auto greatest = weights.amax({1, 2}).clamp_min(1e-12);  // (H)
  const auto steps = (weights / greatest.view({-1, 1, 1}) * 255).round().to(torch::kByte);
  const auto flat = steps.contiguous();
  return {.heads = weights.size(0),
          .queries = layer.queries,
          .keys = layer.keys,
          .scale = values_of(greatest / 255),
          .bytes = {reinterpret_cast<const char*>(flat.data_ptr<uint8_t>()),
                    static_cast<size_t>(flat.numel())}};
}

/// A view of the numbers as the network's input; they must outlive it.
torch::Tensor as_input(std::span<const float> values, int64_t rows, const ClassifierCard& card) {
  TORCH_INTERNAL_ASSERT(std::ssize(values) == rows * card.input_values());
  return torch::from_blob(const_cast<float*>(values.data()),
                          {rows, card.channels, card.image, card.image});
}

/// Sets the chosen cells of x, (1, C, S, S), to 0, the mean colour of preprocessing.
void hide_patches(torch::Tensor& x, const Switches& off, const Model& model) {
  if (off.patches.empty()) return;
  const auto tokens = model.image_tokens();
  const auto rows = off.rows > 0 ? off.rows : tokens ? tokens->rows : 0;
  const auto columns = off.columns > 0 ? off.columns : tokens ? tokens->columns : 0;
  const auto S = x.size(2);
  check(rows > 0 && columns > 0 && rows <= S && columns <= S,
        "ablate: a grid of {} x {} patches; give grid: [rows, columns] of at most {}", rows,
        columns, S);
  for (const auto patch : off.patches) {
    check(patch >= 0 && patch < rows * columns, "ablate: there is no patch {} on a grid of {} x {}",
          patch, rows, columns);
    const auto row = patch / columns, column = patch % columns;
    const auto top = row * S / rows, bottom = (row + 1) * S / rows;
    const auto left = column * S / columns, right = (column + 1) * S / columns;
    x.narrow(2, top, bottom - top).narrow(3, left, right - left).zero_();
  }
}

}  // namespace

ServedClassifier::ServedClassifier(ModelCard card, LoadedCheckpoint loaded)
    : loaded_(std::make_unique<LoadedCheckpoint>(std::move(loaded))), card_{std::move(card)} {
  const auto& [model, info] = *loaded_;
  const auto shape = model->image_shape();
  card_.image = shape->image;
  card_.channels = shape->channels;
  card_.resize = info.preprocess->resize;
  card_.stretch = info.preprocess->stretch;
  card_.classes = info.classes;
  card_.methods = methods_of(*loaded_);
  if (std::ranges::count(card_.methods, ExplainMethod::Rollout) > 0)  // others never hold weights
    for (const auto& layer : attention(std::vector<float>(card_.input_values())).layers)
      card_.attention_bytes += std::ssize(layer.bytes);
}

ServedClassifier::~ServedClassifier() = default;

std::vector<float> ServedClassifier::input_of(const Image& image) const {
  return values_of(preprocess(image, *loaded_->info.preprocess));
}

std::vector<float> ServedClassifier::forward(std::span<const float> inputs, int64_t rows) const {
  const torch::InferenceMode no_gradients;
  const auto x = as_input(inputs, rows, card_);
  return values_of(threads_.run(rows, [&] { return loaded_->model->forward(x); }));
}

std::vector<Prediction> ServedClassifier::top(const std::vector<float>& logits, int64_t k) const {
  const torch::InferenceMode no_gradients;
  const auto row =
      torch::from_blob(const_cast<float*>(logits.data()), {1, static_cast<int64_t>(logits.size())});
  return top_predictions(row, loaded_->info.classes, k)[0];
}

ImageExplanation ServedClassifier::explain(const Image& image, ExplainMethod method,
                                           const std::string& target) const {
  auto e =
      vitrine::explain(*loaded_, image, {.methods = {method}, .target = target, .weights = false});
  return {.image = std::move(e.image),
          .target = std::move(e.target),
          .predictions = std::move(e.predictions),
          .map = std::move(e.maps.front().map)};
}

AttentionAnswer ServedClassifier::attention(const std::vector<float>& input) const {
  const torch::InferenceMode no_gradients;
  AttentionCapture capture;
  const auto logits = loaded_->model->forward(as_input(input, 1, card_));
  AttentionAnswer answer{.predictions =
                             top_predictions(logits, loaded_->info.classes, kPredictions)[0]};
  for (auto& layer : capture.layers) {
    answer.layers.push_back(bytes_of(layer));
    layer.weights.reset();  // of networks with many tokens they are large
  }
  return answer;
}

std::optional<HeadAnswer> ServedClassifier::head(const std::vector<float>& input, int64_t layer,
                                                 int64_t head, int64_t query) const {
  const torch::InferenceMode no_gradients;
  AttentionCapture capture;
  loaded_->model->forward(as_input(input, 1, card_));
  const auto layers = std::ssize(capture.layers);
  if (layers == 0) return std::nullopt;
  check(layer < layers, "head: there is no layer {}; {} has {}, counted from 0", layer, card_.name,
        layers);
  const auto& record = capture.layers[layer];
  const auto heads = record.weights.size(1), queries = record.weights.size(2);
  check(head < heads && query < queries,
        "head: there is no head {} with query {}; layer {} has {} heads and {} queries, counted "
        "from 0",
        head, query, layer, heads, queries);
  if (!record.projections.defined()) return std::nullopt;
  const auto parts = record.projections[0].select(2, head).to(torch::kFloat).unbind(1);  // (T, D)
  const auto q = parts[0][query];
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(0)));
  return HeadAnswer{.q = values_of(q),
                    .k = rows_of(parts[1]),
                    .v = rows_of(parts[2]),
                    .scores = values_of(parts[1].mv(q) * scale),
                    .weights = values_of(record.weights[0][head][query]),
                    .scale = scale};
}

std::vector<std::vector<Prediction>> ServedClassifier::lens(const std::vector<float>& input) const {
  const torch::InferenceMode no_gradients;
  std::vector<std::vector<Prediction>> layers;
  for (const auto& logits : lens_logits(*loaded_->model, as_input(input, 1, card_)))
    layers.push_back(top_predictions(logits, loaded_->info.classes, kPredictions)[0]);
  return layers;
}

std::vector<float> ServedClassifier::ablated_logits(const std::vector<float>& input,
                                                    const Switches& off) const {
  const torch::InferenceMode no_gradients;
  auto x = as_input(input, 1, card_).clone();
  auto& model = *loaded_->model;
  hide_patches(x, off, model);
  std::vector<AttentionHead> heads;
  for (const auto& [layer, head] : off.heads) {
    check(head >= 0, "ablate: there is no head {}", head);
    heads.push_back({layer, head});
  }
  for (const auto layer : off.layers) heads.push_back({layer});
  if (heads.empty()) return values_of(model.forward(x));
  const HeadMask mask(std::move(heads));
  const auto logits = model.forward(x);
  mask.check_layers();
  return values_of(logits);
}

}  // namespace vitrine::serve
