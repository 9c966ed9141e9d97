#include "vitrine/nn/sparse_step.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/kernels/activation.h"
#include "vitrine/kernels/decode_attention.h"
#include "vitrine/kernels/layer_norm.h"
#include "vitrine/nn/sparse_block.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/packed_linear.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {
namespace {

/// Some sequences on their way through a block. The buffers are a thread's, and stay.
class SequencesStep {
 public:
  SequencesStep(const SparseBlockImpl& block, SparseKvCache& cache, int64_t position, int64_t first,
                int64_t count)
      : block_(block), cache_(cache), position_(position), first_(first), count_(count) {
    const auto& attention = block.config.attention;
    qkv_width_ = 2 * attention.key_width + attention.dim;
    int64_t visible = 0;
    for (const auto& heads : cache.kv_cache)
      visible = std::max(visible, heads.plan->visible_slots(position).numel());
    const auto C = attention.dim;
    thread_local std::vector<float> buffer;
    const size_t size = count * (2 * C + qkv_width_ + block.config.hidden + 2) + visible;
    if (buffer.size() < size) buffer.resize(size);
    normed_ = buffer.data();
    mixed_ = normed_ + count * C;
    qkv_ = mixed_ + count * C;
    hidden_ = qkv_ + count * qkv_width_;
    moments_ = hidden_ + count * block.config.hidden;
    scores_ = moments_ + 2 * count;
  }

  /// x and y: (count, C).
  void run(const float* x, float* y) {
    const auto numbers_of_all = count_ * block_.config.attention.dim;
    norm(x, block_.norm1);
    product(block_.attn->qkv, normed_, qkv_);
    for (int64_t i = 0; i < count_; ++i) attend(i);
    product(block_.attn->proj, mixed_, y);
    for (int64_t i = 0; i < numbers_of_all; ++i) y[i] += x[i];
    norm(y, block_.norm2);
    product(block_.mlp->fc1, normed_, hidden_);
    kernels::activate(Activation::QuickGelu, hidden_, count_ * block_.config.hidden, hidden_);
    product(block_.mlp->fc2, hidden_, mixed_);
    for (int64_t i = 0; i < numbers_of_all; ++i) y[i] += mixed_[i];
  }

 private:
  void norm(const float* x, const torch::nn::LayerNorm& layer) {
    const kernels::NormRows<float> rows{x,        values_or_null(layer->weight),
                                        count_,   block_.config.attention.dim,
                                        moments_, moments_ + count_};
    kernels::layer_norm(rows, values_or_null(layer->bias), static_cast<float>(layer->options.eps()),
                        normed_);
  }

  void product(const Linear& layer, const float* x, float* y) const {
    layer->packed()->rows(x, count_, values_or_null(layer->bias), /*gelu=*/false, y);
  }

  /// The attention of one sequence, whose key and value are stored first.
  void attend(int64_t i) {
    const auto& config = block_.config.attention;
    const auto H = config.heads(), D = config.key_width / H, E = config.dim / H;
    const float* qkv = qkv_ + i * qkv_width_;
    for (auto& heads : cache_.kv_cache) {
      const auto slots = heads.plan->slots(), slot = heads.plan->slot(position_);
      const auto& visible = heads.plan->visible_slots(position_);
      for (int64_t h = 0; h < heads.count; ++h) {
        const auto head = heads.first + h, place = (first_ + i) * heads.count + h;
        float* keys = heads.keys.data_ptr<float>() + place * slots * D;
        float* values = heads.values.data_ptr<float>() + place * slots * E;
        std::copy_n(qkv + config.key_width + head * D, D, keys + slot * D);
        std::copy_n(qkv + 2 * config.key_width + head * E, E, values + slot * E);
        const float scale = 1 / std::sqrt(static_cast<float>(D));
        kernels::decode_attention({qkv + head * D, keys, values, D, E, scale},
                                  visible.data_ptr<int64_t>(), visible.numel(), scores_,
                                  mixed_ + i * config.dim + head * E);
      }
    }
  }

  const SparseBlockImpl& block_;
  SparseKvCache& cache_;
  const int64_t position_, first_, count_;
  int64_t qkv_width_ = 0;
  float *normed_, *mixed_, *qkv_, *hidden_, *moments_, *scores_;
};

}  // namespace

int64_t SparseKvCache::bytes() const {
  size_t bytes = 0;
  for (const auto& heads : kv_cache) bytes += heads.keys.nbytes() + heads.values.nbytes();
  return static_cast<int64_t>(bytes);
}

bool has_packed_step(const SparseBlockImpl& block, const torch::Tensor& x) {
  const auto& attn = *block.attn;
  const auto& mlp = *block.mlp;
  return attn.qkv->packed() && attn.proj->packed() && mlp.fc1->packed() && mlp.fc2->packed() &&
         !block.is_training() && has_cpu_kernel(x) && x.scalar_type() == torch::kFloat;
}

torch::Tensor packed_sparse_step(const SparseBlockImpl& block, const torch::Tensor& x,
                                 SparseKvCache& cache, int64_t position) {
  const auto& config = block.config;
  const auto B = x.size(0), C = config.attention.dim;
  const auto in = x.contiguous();
  auto out = torch::empty({B, C});
  const auto work = C * (2 * config.attention.key_width + 2 * C + 2 * config.hidden);
  at::parallel_for(0, B, items_per_task(kMultiplyAddsPerTask, work),
                   [&](int64_t begin, int64_t end) {
                     SequencesStep(block, cache, position, begin, end - begin)
                         .run(in.data_ptr<float>() + begin * C, out.data_ptr<float>() + begin * C);
                   });
  return out;
}

}  // namespace vitrine
