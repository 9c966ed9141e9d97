#include "vitrine/nn/recompute.h"

#include <ATen/CPUGeneratorImpl.h>

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Forward = std::function<torch::Tensor(const torch::Tensor&)>;

/// Puts the CPU generator back as it was when this was made, for as long as it lives.
class ReplayRandom {
 public:
  explicit ReplayRandom(const torch::Tensor& state)
      : generator_(at::detail::getDefaultCPUGenerator()) {
    before_ = generator_.get_state();
    generator_.set_state(state);
  }
  ReplayRandom(const ReplayRandom&) = delete;
  ReplayRandom& operator=(const ReplayRandom&) = delete;
  ~ReplayRandom() { generator_.set_state(before_); }

 private:
  at::Generator generator_;
  torch::Tensor before_;
};

/// What the backward pass needs besides tensors, kept alive by the autograd graph.
struct Recipe : torch::CustomClassHolder {
  Recipe(Forward f, tensor_list p) : forward(std::move(f)), parameters(std::move(p)) {}
  Forward forward;
  tensor_list parameters;
};

struct Recompute : torch::autograd::Function<Recompute> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const Forward& f,
                               const tensor_list& parameters) {
    ctx->save_for_backward({x, at::detail::getDefaultCPUGenerator().get_state()});
    ctx->saved_data["recipe"] =
        c10::IValue::make_capsule(c10::make_intrusive<Recipe>(f, parameters));
    return f(x);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["recipe"].toCapsule();
    const auto& recipe = static_cast<const Recipe&>(*capsule);
    const auto x = saved[0].detach().requires_grad_(true);
    torch::Tensor y;
    {
      const ReplayRandom replay(saved[1]);
      const torch::AutoGradMode record(true);
      y = recipe.forward(x);
    }
    tensor_list inputs = {x};
    inputs.insert(inputs.end(), recipe.parameters.begin(), recipe.parameters.end());
    auto result = torch::autograd::grad({y}, inputs, {gradients[0]}, /*retain_graph=*/false,
                                        /*create_graph=*/false, /*allow_unused=*/true);
    result.insert(result.begin() + 1, torch::Tensor());  // the function itself has no gradient
    return result;
  }
};

}  // namespace

torch::Tensor recomputed(const Forward& f, const torch::Tensor& x, tensor_list parameters) {
  if (!torch::GradMode::is_enabled()) return f(x);
  return Recompute::apply(x, f, parameters);
}

}  // namespace vitrine
