#include "vitrine/ops/training/encoder_block.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/ops/optional_tensor.h"
#include "vitrine/ops/packed_block.h"
#include "vitrine/ops/task_queue.h"
#include "vitrine/ops/training/block_chunks.h"
#include "vitrine/ops/training/lane_blocks.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

BlockLayout layout_of(const torch::Tensor& x, const EncoderBlockSettings& settings, int64_t hidden,
                      Precision precision) {
  return {x.size(0), x.size(1), x.size(2), settings.heads, hidden, precision};
}

/// Calls `work(chunk, scratch)` for all chunks, whose threads have memory of their own.
template <typename Work>
void for_chunks(const BlockLayout& layout, bool backward, const Work& work) {
  TaskQueue(layout.chunks()).run([&](const auto& for_tasks) {
    BlockScratch scratch(layout, backward);
    for_tasks([&](int64_t chunk) { work(chunk, scratch); });
  });
}

/// What the backward pass must know beside tensors.
struct BlockCall : torch::CustomClassHolder {
  EncoderBlockSettings settings;
  Precision precision;
  BlockKeys keys;
  bool by_lanes;
};

/// The tensors that autograd keeps: first these of a call, then those of `KeptBlock`.
enum Saved { kInput, kWeights, kKept = kWeights + 12 };

tensor_list parameters_of(const EncoderBlockWeights& w) {
  return {w.gamma1, w.beta1, w.qkv_weight,  w.qkv_bias,  w.proj_weight, w.proj_bias,
          w.gamma2, w.beta2, w.mlp.weight1, w.mlp.bias1, w.mlp.weight2, w.mlp.bias2};
}

EncoderBlockWeights weights_of(const tensor_list& saved) {
  const auto* p = saved.data() + kWeights;
  return {.gamma1 = p[0],
          .beta1 = p[1],
          .qkv_weight = p[2],
          .qkv_bias = p[3],
          .proj_weight = p[4],
          .proj_bias = p[5],
          .gamma2 = p[6],
          .beta2 = p[7],
          .mlp = {p[8], p[9], p[10], p[11]}};
}

struct TrainingEncoderBlock : torch::autograd::Function<TrainingEncoderBlock> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input,
                               const torch::Tensor& gamma1, const torch::Tensor& beta1,
                               const torch::Tensor& qkv_weight, const OptionalTensor& qkv_bias,
                               const torch::Tensor& proj_weight, const OptionalTensor& proj_bias,
                               const torch::Tensor& gamma2, const torch::Tensor& beta2,
                               const torch::Tensor& weight1, const OptionalTensor& bias1,
                               const torch::Tensor& weight2, const OptionalTensor& bias2,
                               const EncoderBlockSettings& settings, Precision precision,
                               bool backward_follows) {
    const auto or_none = [](const OptionalTensor& t) { return t.value_or(torch::Tensor()); };
    const EncoderBlockWeights weights{.gamma1 = gamma1,
                                      .beta1 = beta1,
                                      .qkv_weight = qkv_weight,
                                      .qkv_bias = or_none(qkv_bias),
                                      .proj_weight = proj_weight,
                                      .proj_bias = or_none(proj_bias),
                                      .gamma2 = gamma2,
                                      .beta2 = beta2,
                                      .mlp = {weight1, or_none(bias1), weight2, or_none(bias2)}};
    const auto x = input.contiguous();
    auto call = c10::make_intrusive<BlockCall>();
    call->settings = settings;
    call->precision = precision;
    call->by_lanes = suits_lanes(x.size(1), x.size(2), weight1.size(0), settings, precision);
    auto saved = parameters_of(weights);
    saved.insert(saved.begin(), x);
    torch::Tensor y;
    if (call->by_lanes) {
      const auto blocks = lane_blocks_forward(x, weights, settings, backward_follows);
      y = blocks.y;
      saved.push_back(blocks.kept);
    } else {
      call->keys = BlockKeys::draw(settings);
      const auto layout = layout_of(x, settings, weight1.size(0), precision);
      const BlockForward block(layout, weights, settings, call->keys);
      const auto kept = backward_follows ? KeptBlock(layout) : KeptBlock();
      y = torch::empty_like(x);
      for_chunks(layout, /*backward=*/false, [&](int64_t chunk, BlockScratch& scratch) {
        block.run(chunk, x.data_ptr<float>(), y.data_ptr<float>(),
                  backward_follows ? &kept : nullptr, scratch);
      });
      saved.insert(saved.end(), {kept.attention.qkv, kept.attention.weights, kept.mixed_groups,
                                 kept.h, kept.before});
    }
    if (!backward_follows) return y;
    ctx->save_for_backward(std::move(saved));
    ctx->saved_data["call"] = c10::IValue::make_capsule(std::move(call));
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto holder = ctx->saved_data["call"].toCapsule();
    const auto& call = static_cast<const BlockCall&>(*holder);
    const auto weights = weights_of(saved);
    const auto& x = saved[kInput];
    const auto dy = gradients[0].contiguous();
    auto all = call.by_lanes ? lane_blocks_backward(x, saved[kKept], dy, weights, call.settings)
                             : by_chunks(call, weights, saved, dy);
    const auto parameters = parameters_of(weights);
    tensor_list result = {all.x};
    for (size_t i = 0; i < parameters.size(); ++i)  // a missing bias has no gradient
      result.push_back(parameters[i].defined() ? all.parameters[i] : torch::Tensor());
    result.resize(result.size() + 3);
    return result;
  }

 private:
  static BlockGradients by_chunks(const BlockCall& call, const EncoderBlockWeights& weights,
                                  const tensor_list& saved, const torch::Tensor& dy) {
    const auto& x = saved[kInput];
    KeptBlock kept;
    kept.attention.qkv = saved[kKept];
    kept.attention.weights = saved[kKept + 1];
    kept.mixed_groups = saved[kKept + 2];
    kept.h = saved[kKept + 3];
    kept.before = saved[kKept + 4];
    const auto layout = layout_of(x, call.settings, weights.mlp.weight1.size(0), call.precision);
    const BlockBackward block(layout, weights, call.settings, call.keys, kept);
    auto dx = torch::empty_like(x);
    for_chunks(layout, /*backward=*/true, [&](int64_t chunk, BlockScratch& scratch) {
      block.run(chunk, x.data_ptr<float>(), dy.data_ptr<float>(), dx.data_ptr<float>(), scratch);
    });
    return {dx, block.parameter_gradients()};
  }
};

}  // namespace

bool EncoderBlockWeights::all_learn() const {
  return std::ranges::all_of(parameters_of(*this), [](const torch::Tensor& p) {
    return !p.defined() || p.requires_grad();
  });
}

void EncoderBlockWeights::check_fit(int64_t C) const {
  const auto fits = [](const torch::Tensor& t, const char* name, torch::IntArrayRef sizes) {
    check(t.defined() && t.sizes() == sizes && t.scalar_type() == torch::kFloat &&
              t.device().is_cpu() && t.is_contiguous(),
          "encoder_block: {} is {}, expected {} in fp32 on the CPU", name,
          t.defined() ? fmt::format("{}", fmt::join(t.sizes(), "x")) : "missing",
          fmt::join(sizes, "x"));
  };
  const auto bias_fits = [&](const torch::Tensor& t, const char* name, int64_t n) {
    if (t.defined()) fits(t, name, {n});
  };
  fits(gamma1, "gamma1", {C});
  fits(beta1, "beta1", {C});
  fits(qkv_weight, "qkv_weight", {3 * C, C});
  fits(proj_weight, "proj_weight", {C, C});
  fits(gamma2, "gamma2", {C});
  fits(beta2, "beta2", {C});
  check(mlp.weight1.defined() && mlp.weight1.dim() == 2, "encoder_block: weight1 is no matrix");
  const auto F = mlp.weight1.size(0);
  fits(mlp.weight1, "weight1", {F, C});
  fits(mlp.weight2, "weight2", {C, F});
  bias_fits(qkv_bias, "qkv_bias", 3 * C);
  bias_fits(proj_bias, "proj_bias", C);
  bias_fits(mlp.bias1, "bias1", F);
  bias_fits(mlp.bias2, "bias2", C);
}

bool suits_one_operation(torch::IntArrayRef sizes, int64_t hidden,
                         const EncoderBlockSettings& settings, Precision precision) {
  const auto B = sizes[0], T = sizes[1], C = sizes[2];
  return suits_lanes(T, C, hidden, settings, precision) || shares_sequences(B, T);
}

torch::Tensor training_encoder_block(const torch::Tensor& x, const EncoderBlockWeights& w,
                                     const EncoderBlockSettings& settings, Precision precision) {
  check(x.dim() == 3 && x.numel() > 0 && x.scalar_type() == torch::kFloat && x.device().is_cpu(),
        "encoder_block: {} ({}) is no (B, T, C) tensor in fp32 on the CPU",
        fmt::join(x.sizes(), "x"), torch::toString(x.scalar_type()));
  const auto C = x.size(2);
  w.check_fit(C);
  check(settings.heads > 0 && C % settings.heads == 0,
        "encoder_block: {} numbers cannot be split among {} heads", C, settings.heads);
  for (const double p : {settings.dropout, settings.attention_dropout, settings.drop_path})
    check(p >= 0 && p < 1, "encoder_block: dropout probability {} is not in [0, 1)", p);
  RECORD_FUNCTION("vitrine::training_encoder_block",
                  std::vector<c10::IValue>({x, w.qkv_weight, w.mlp.weight1}));
  return TrainingEncoderBlock::apply(
      x, w.gamma1, w.beta1, w.qkv_weight, if_defined(w.qkv_bias), w.proj_weight,
      if_defined(w.proj_bias), w.gamma2, w.beta2, w.mlp.weight1, if_defined(w.mlp.bias1),
      w.mlp.weight2, if_defined(w.mlp.bias2), settings, precision, torch::GradMode::is_enabled());
}

}  // namespace vitrine
