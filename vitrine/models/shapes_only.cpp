#include "vitrine/models/shapes_only.h"

#include <torch/library.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"

// A dispatch mode that sends whatever makes a tensor to the meta device, and the shapes of those
// operators that LibTorch teaches the meta device from Python only.

namespace vitrine {
namespace {

using torch::Tensor;
using OptionalTensor = c10::optional<Tensor>;
constexpr auto kMode = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// What may still be made on this thread.
thread_local ShapesLimit* left_to_make = nullptr;

void count_made(const Tensor& made) {
  if (left_to_make == nullptr) return;
  const auto bytes = made.numel() * static_cast<int64_t>(made.element_size());
  check(left_to_make->tensors > 0 && bytes >= 0 && bytes <= left_to_make->bytes, "{}",
        left_to_make->refusal);
  --left_to_make->tensors;
  left_to_make->bytes -= bytes;
}

void make_on_meta(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(kMode);
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  bool makes = false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name() == "device") {
      (*stack)[first + i] = c10::Device(c10::kMeta);
      makes = true;
    }
  op.callBoxed(stack);
  if (makes && !stack->empty() && stack->back().isTensor()) count_made(stack->back().toTensor());
}

Tensor relu_shape(const Tensor& x) { return torch::empty_like(x); }

Tensor roll_shape(const Tensor& x, at::IntArrayRef, at::IntArrayRef) {
  return torch::empty_like(x);
}

Tensor index_select_shape(const Tensor& x, int64_t dim, const Tensor& index) {
  auto shape = x.sizes().vec();
  shape[at::maybe_wrap_dim(dim, x.dim())] = index.numel();
  return x.new_empty(shape);
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_shape(const Tensor& x, at::IntArrayRef normalized,
                                                    const OptionalTensor&, const OptionalTensor&,
                                                    double) {
  auto shape = x.sizes().vec();
  std::fill(shape.end() - static_cast<int64_t>(normalized.size()), shape.end(), 1);
  return {torch::empty_like(x), x.new_empty(shape), x.new_empty(shape)};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_shape(const Tensor& x, const OptionalTensor&,
                                                    const OptionalTensor&, const OptionalTensor&,
                                                    const OptionalTensor&, bool training, double,
                                                    double) {
  const int64_t saved = training ? x.size(1) : 0;
  return {torch::empty_like(x), x.new_empty({saved}), x.new_empty({saved})};
}

Tensor convolution_shape(const Tensor& x, const Tensor& weight, const OptionalTensor&,
                         at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                         bool transposed, at::IntArrayRef output_padding, int64_t groups) {
  std::vector<int64_t> shape = {x.size(0), transposed ? weight.size(1) * groups : weight.size(0)};
  for (int64_t i = 0; i < x.dim() - 2; ++i) {
    const int64_t in = x.size(i + 2), reach = dilation[i] * (weight.size(i + 2) - 1);
    shape.push_back(transposed
                        ? (in - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i] + 1
                        : (in + 2 * padding[i] - reach - 1) / stride[i] + 1);
  }
  return x.new_empty(shape);
}

Tensor im2col_shape(const Tensor& x, at::IntArrayRef kernel, at::IntArrayRef dilation,
                    at::IntArrayRef padding, at::IntArrayRef stride) {
  int64_t windows = 1;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t in = x.size(static_cast<int64_t>(i) + 2), reach = dilation[i] * (kernel[i] - 1);
    windows *= (in + 2 * padding[i] - reach - 1) / stride[i] + 1;
  }
  return x.new_empty({x.size(0), x.size(1) * kernel[0] * kernel[1], windows});
}

/// Registers the mode and the missing shapes, once per process.
void register_shapes() {
  static const auto libraries = [] {
    std::vector<torch::Library> made;
    made.emplace_back(torch::Library::IMPL, "_", kMode, __FILE__, __LINE__);
    made.back().fallback(torch::CppFunction::makeFromBoxedFunction<&make_on_meta>());
    made.emplace_back(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
    const auto add = [&](const char* name, auto* function) {
      const auto op = c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, ""});
      if (op && !op->hasKernelForDispatchKey(c10::DispatchKey::Meta))
        made.back().impl(name, function);
    };
    add("relu", &relu_shape);
    add("roll", &roll_shape);
    add("index_select", &index_select_shape);
    add("native_layer_norm", &layer_norm_shape);
    add("native_batch_norm", &batch_norm_shape);
    add("convolution", &convolution_shape);
    add("im2col", &im2col_shape);
    return made;
  }();
}

}  // namespace

struct ShapesOnly::Guard {
  explicit Guard(ShapesLimit l) : limit(std::move(l)) { left_to_make = &limit; }
  ~Guard() { left_to_make = outer; }

  ShapesLimit limit;
  ShapesLimit* const outer = left_to_make;
  c10::impl::IncludeDispatchKeyGuard mode{kMode};
};

ShapesOnly::ShapesOnly(ShapesLimit limit) {
  register_shapes();
  guard_ = std::make_unique<Guard>(std::move(limit));
}

ShapesOnly::~ShapesOnly() = default;

}  // namespace vitrine
