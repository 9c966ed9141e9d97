#include "vitrine/nn/recompute.h"

#include <ATen/CPUGeneratorImpl.h>

#include "vitrine/ops/torch_compat.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Forward = std::function<torch::Tensor(const torch::Tensor&)>;

thread_local bool recomputing = false;
thread_local bool recomputed_later = false;

/// While it lives, what this thread computes will be computed again.
class FirstPass {
 public:
  FirstPass() : outer_(recomputed_later) { recomputed_later = true; }
  FirstPass(const FirstPass&) = delete;
  FirstPass& operator=(const FirstPass&) = delete;
  ~FirstPass() { recomputed_later = outer_; }

 private:
  bool outer_;
};

/// While it lives, the CPU generator is as it was when its state was taken, products are computed
/// in the precision of then, and layers know that they see what they have seen before.
class Replay {
 public:
  Replay(const torch::Tensor& state, bool autocast)
      : generator_(at::detail::getDefaultCPUGenerator()),
        outer_(recomputing),
        outer_autocast_(cpu_autocast_enabled()) {
    before_ = generator_.get_state();
    generator_.set_state(state);
    recomputing = true;
    set_cpu_autocast(autocast);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() {
    generator_.set_state(before_);
    recomputing = outer_;
    if (cpu_autocast_enabled() && !outer_autocast_) at::autocast::clear_cache();
    set_cpu_autocast(outer_autocast_);
  }

 private:
  at::Generator generator_;
  bool outer_, outer_autocast_;
  torch::Tensor before_;
};

/// Keeps the function alive inside the autograd graph.
struct ForwardHolder : torch::CustomClassHolder {
  explicit ForwardHolder(Forward f) : forward(std::move(f)) {}
  Forward forward;
};

struct Recompute : torch::autograd::Function<Recompute> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const Forward& f) {
    ctx->save_for_backward({x, at::detail::getDefaultCPUGenerator().get_state()});
    ctx->saved_data["autocast"] = cpu_autocast_enabled();
    ctx->saved_data["forward"] = c10::IValue::make_capsule(c10::make_intrusive<ForwardHolder>(f));
    const FirstPass first_pass;
    return f(x);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto holder = ctx->saved_data["forward"].toCapsule();
    const auto x = saved[0].detach().requires_grad_(true);
    torch::Tensor y;
    {
      const Replay replay(saved[1], ctx->saved_data["autocast"].toBool());
      const torch::AutoGradMode record(true);
      y = static_cast<const ForwardHolder&>(*holder).forward(x);
    }
    torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), {}};
  }
};

}  // namespace

torch::Tensor recomputed(const Forward& f, const torch::Tensor& x) {
  if (!torch::GradMode::is_enabled() || !x.requires_grad()) return f(x);
  return Recompute::apply(x, f);
}

bool is_recomputing() { return recomputing; }

bool backward_follows() { return torch::GradMode::is_enabled() || recomputed_later; }

}  // namespace vitrine
