#include "vitrine/weights/steps.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

torch::Tensor done(Step step, const torch::Tensor& x, const std::vector<int64_t>& wanted) {
  switch (step) {
    case Step::Squeeze: {
      auto squeezed = x;
      while (squeezed.dim() > std::ssize(wanted) && !wanted.empty() && squeezed.size(0) == 1)
        squeezed = squeezed.squeeze(0);
      return squeezed;
    }
    case Step::FromRank4:
      return x.dim() > 0 && x.numel() == x.size(-1) ? x.flatten() : torch::Tensor();
    case Step::Transpose:
      return x.dim() <= 2 ? x.t() : torch::Tensor();
    case Step::Orient: {
      if (x.dim() != 2) return {};
      const bool ours = x.sizes() == at::IntArrayRef(wanted) && x.size(0) != x.size(1);
      return ours ? x : x.t();
    }
    case Step::HwioToOihw:
      if (x.dim() == 1) return x;
      return x.dim() == 4 ? x.permute({3, 2, 0, 1}) : torch::Tensor();
    case Step::BgrToRgb:  // without values there is nothing to turn round
      return x.dim() == 4 && !x.is_meta() ? x.flip(1) : x;
    case Step::HeadsOut:
      if (x.dim() == 2) return x.flatten();
      return x.dim() == 3 ? x.flatten(1).t() : torch::Tensor();
    case Step::HeadsIn:
      if (x.dim() == 1) return x;
      return x.dim() == 3 ? x.flatten(0, 1).t() : torch::Tensor();
    case Step::Positions:
      return x;
  }
  return {};
}

torch::Tensor undone(Step step, const torch::Tensor& x, int64_t heads) {
  const auto split_heads = [&](const torch::Tensor& flat, int64_t dim) {
    check(heads > 0 && flat.size(dim) % heads == 0,
          "export: {} numbers cannot be laid out by {} heads; give the model's", flat.size(dim),
          heads);
    return flat.unflatten(dim, std::vector<int64_t>{heads, flat.size(dim) / heads});
  };
  switch (step) {
    case Step::Squeeze:
    case Step::Positions:
      return x;
    case Step::FromRank4:
      return x.reshape({1, 1, 1, -1});
    case Step::Transpose:
    case Step::Orient:
      return x.t();
    case Step::HwioToOihw:
      return x.dim() == 4 ? x.permute({2, 3, 1, 0}) : x;
    case Step::BgrToRgb:
      return x.dim() == 4 ? x.flip(1) : x;
    case Step::HeadsOut:
      return x.dim() == 2 ? split_heads(x.t(), 1) : split_heads(x, 0);
    case Step::HeadsIn:
      return x.dim() == 2 ? split_heads(x.t(), 0) : x;
  }
  return x;
}

}  // namespace

const char* step_name(Step step) {
  switch (step) {
    case Step::Transpose:
    case Step::Orient:
      return "transposed";
    case Step::HwioToOihw:
      return "HWIO to OIHW";
    case Step::BgrToRgb:
      return "BGR to RGB";
    case Step::HeadsOut:
    case Step::HeadsIn:
      return "heads joined";
    case Step::Squeeze:
    case Step::FromRank4:
    case Step::Positions:
      break;
  }
  return "";
}

bool has_step(const std::vector<Step>& steps, Step step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

torch::Tensor with_steps(const std::vector<Step>& steps, torch::Tensor tensor,
                         const std::vector<int64_t>& wanted) {
  for (const auto step : steps)
    if (tensor.defined()) tensor = done(step, tensor, wanted);
  return tensor;
}

torch::Tensor without_steps(const std::vector<Step>& steps, torch::Tensor tensor, int64_t heads) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    tensor = undone(*step, tensor, heads);
  return tensor;
}

std::vector<int64_t> their_shape(const std::vector<Step>& steps, const torch::Tensor& tensor,
                                 const std::vector<int64_t>& wanted) {
  if (has_step(steps, Step::HeadsOut) || has_step(steps, Step::HeadsIn)) {
    const auto heads = tensor.dim() >= 2 ? tensor.size(has_step(steps, Step::HeadsIn) ? 0 : -2) : 0;
    const auto all = wanted[has_step(steps, Step::HeadsIn) ? wanted.size() - 1 : 0];
    if (heads == 0 || all % heads != 0) return wanted;
    return without_steps(steps, torch::scalar_tensor(0).expand(wanted), heads).sizes().vec();
  }
  return without_steps(steps, torch::scalar_tensor(0).expand(wanted), /*heads=*/0).sizes().vec();
}

}  // namespace vitrine
