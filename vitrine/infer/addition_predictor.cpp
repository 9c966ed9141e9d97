#include "vitrine/infer/addition_predictor.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/infer/device.h"
#include "vitrine/models/addition.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {

struct AdditionPredictor::Loaded {
  std::shared_ptr<Model> model;
  torch::Device device;
};

std::optional<NumberPair> parse_pair(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    if (digits.empty() || digits.size() > 2) return std::nullopt;
    int value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return std::nullopt;
      value = 10 * value + (c - '0');
    }
    return value;
  };
  const auto plus = text.find('+');
  if (plus == std::string_view::npos) return std::nullopt;
  const auto a = number(text.substr(0, plus)), b = number(text.substr(plus + 1));
  if (!a || !b) return std::nullopt;
  return NumberPair{*a, *b};
}

bool looks_like_sum(std::string_view text) {
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const auto plus = text.find('+');
  return plus != std::string_view::npos && is_number(text.substr(0, plus)) &&
         is_number(text.substr(plus + 1));
}

AdditionPredictor::AdditionPredictor(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
AdditionPredictor::AdditionPredictor(std::shared_ptr<Model> model)
    : AdditionPredictor(std::make_unique<Loaded>(Loaded{std::move(model), torch::kCPU})) {}
AdditionPredictor::AdditionPredictor(AdditionPredictor&&) noexcept = default;
AdditionPredictor& AdditionPredictor::operator=(AdditionPredictor&&) noexcept = default;
AdditionPredictor::~AdditionPredictor() = default;

AdditionPredictor AdditionPredictor::load(const fs::path& run_or_checkpoint,
                                          const std::string& device) {
  const auto [model, info] = load_checkpoint(run_or_checkpoint);
  check(model->task() == Task::DigitSum, "predict: {} ({}) does not add; {}",
        run_or_checkpoint.string(), info.model.name(),
        model->image_shape() ? "give it images" : "choose a network that does");
  auto loaded = std::make_unique<Loaded>(Loaded{model, open_device(device)});
  loaded->model->to(loaded->device);
  return AdditionPredictor(std::move(loaded));
}

PredictedSum AdditionPredictor::add(NumberPair pair) const {
  const torch::InferenceMode no_gradients;
  const auto digits =
      torch::tensor({{pair.a / 10, pair.a % 10, pair.b / 10, pair.b % 10}}, torch::kLong);
  const auto logits = loaded_->model->forward(digits.to(loaded_->device)).cpu();
  check(torch::isfinite(logits).all().item<bool>(),
        "predict: the network's logits are not finite; its weights are damaged");
  PredictedSum sum{.value = static_cast<int>(decode_sums(logits).item<int64_t>()),
                   .probability = 1};
  int64_t first = 0;
  for (size_t i = 0; i < kSumDigitValues.size(); ++i) {
    const auto values =
        logits[0].narrow(0, first, kSumDigitValues[i]).softmax(0).to(torch::kDouble);
    sum.probability *= values.max().item<double>();
    std::copy_n(values.contiguous().data_ptr<double>(), values.numel(), sum.digits[i].begin());
    first += kSumDigitValues[i];
  }
  return sum;
}

}  // namespace vitrine
