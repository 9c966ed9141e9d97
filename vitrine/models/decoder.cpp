#include "vitrine/models/decoder.h"

#include "vitrine/core/error.h"

namespace vitrine {

class BlockDecoder::State : public DecoderState {
 public:
  State(Parts parts, int64_t batch) : parts_(std::move(parts)), batch_(batch) {
    check(batch > 0, "decoder: {} sequences; ask for at least one", batch);
    if (parts_.positions.defined()) parts_.positions = parts_.positions.squeeze(0);  // (T, C)
    for (const auto& block : *parts_.blocks) caches_.push_back(block->make_cache(batch));
  }

  int64_t position() const override { return position_; }
  int64_t cache_bytes() const override {
    int64_t bytes = 0;
    for (const auto& cache : caches_) bytes += cache->bytes();
    return bytes;
  }

  /// (B) tokens -> (B, vocabulary) logits.
  torch::Tensor step(const torch::Tensor& previous) {
    auto x = embed(previous);  // (B, C)
    auto cache = caches_.begin();
    for (const auto& block : *parts_.blocks) x = block->step(x, **cache++);
    ++position_;
    return parts_.logits(x);
  }

 private:
  torch::Tensor embed(const torch::Tensor& previous) {
    const bool has_start = parts_.start.defined();
    if (position_ == 0 && has_start) return parts_.start.expand({batch_, parts_.start.size(0)});
    check(previous.defined() && previous.dim() == 1 && previous.size(0) == batch_,
          "decoder: step {} takes one token of each of the {} sequences", position_, batch_);
    const auto tokens = parts_.embedding(previous);
    return parts_.positions.defined() ? tokens + parts_.positions[position_ - (has_start ? 1 : 0)]
                                      : tokens;
  }

  Parts parts_;
  int64_t batch_, position_ = 0;
  std::vector<std::unique_ptr<BlockCache>> caches_;  // one per block
};

std::unique_ptr<DecoderState> BlockDecoder::make_state(int64_t batch) const {
  const torch::NoGradGuard no_grad;
  return std::make_unique<State>(parts(), batch);
}

torch::Tensor BlockDecoder::step(const torch::Tensor& previous, DecoderState& state) const {
  const torch::NoGradGuard no_grad;
  check(state.position() < context(), "decoder: a sequence has at most {} tokens", context());
  auto* own = dynamic_cast<State*>(&state);
  TORCH_INTERNAL_ASSERT(own != nullptr, "the state is of another decoder");
  return own->step(previous);
}

}  // namespace vitrine
