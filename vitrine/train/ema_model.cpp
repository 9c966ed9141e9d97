#include "vitrine/train/ema_model.h"

#include <algorithm>

namespace vitrine {
namespace {

template <typename F>
void for_pairs(Model& target, const Model& source, F&& f) {
  const torch::NoGradGuard no_grad;
  const auto to = target.parameters(), from = source.parameters();
  for (size_t i = 0; i < to.size(); ++i) f(to[i], from[i]);
  const auto to_buffers = target.buffers(), from_buffers = source.buffers();
  for (size_t i = 0; i < to_buffers.size(); ++i) to_buffers[i].copy_(from_buffers[i]);
}

}  // namespace

EmaModel::EmaModel(std::shared_ptr<Model> model, const Model& source, double decay)
    : model_(std::move(model)), decay_(decay) {
  for_pairs(*model_, source,
            [](const torch::Tensor& to, const torch::Tensor& from) { to.copy_(from); });
}

void EmaModel::update(const Model& source, int64_t step) {
  const double at = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + at) / (10 + at));
  for_pairs(*model_, source, [decay](const torch::Tensor& to, const torch::Tensor& from) {
    to.lerp_(from, 1 - decay);
  });
}

}  // namespace vitrine
