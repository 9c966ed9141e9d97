#include "vitrine/infer/sampling.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/infer/generator.h"
#include "vitrine/models/decoder.h"

namespace vitrine {
namespace {

/// Throws unless the first `kept` tokens of the data are the first that the model reads.
void check_reading_order(const torch::Tensor& order, int64_t kept) {
  check(!order.defined() || kept == 0 || order.narrow(0, 0, kept).equal(torch::arange(kept)),
        "sample: the model reads bytes in another order than that of the data (order: planar), so "
        "it cannot continue what is given");
}

/// What is read before the first token is sampled: (B), undefined where the model needs nothing.
torch::Tensor first_tokens(const Generator& generator, int64_t count) {
  if (generator.decoder().predicts_first()) return {};
  check(generator.words().has_value(),
        "sample: the data has no token with which a sequence starts");
  return torch::full({count}, Vocabulary::kStart, torch::kLong);
}

}  // namespace

Sampling::Sampling(const Generator& generator, const SampleOptions& options)
    : generator_(generator),
      options_(options),
      order_(generator.decoder().reading_order()),
      kept_(options.prefix.defined() ? options.prefix.size(1) : 0) {
  options_.validate();
  const auto B = options_.count, T = generator_.decoder().context();
  check(kept_ <= T, "sample: {} {} are given, a sequence has at most {}", kept_, generator_.unit(),
        T);
  check_reading_order(order_, kept_);
  tokens_ = torch::empty({B, T}, torch::kLong);
  ended_ = torch::zeros({B}, torch::kBool);
  last_ = first_tokens(generator_, B);
  state_ = generator_.decoder().make_state(B);
}

Sampling::~Sampling() = default;

bool Sampling::has_ended() const {
  return position_ == context() || (generator_.words() && ended_.all().item<bool>());
}

bool Sampling::step() {
  if (has_ended()) return false;
  const auto t = position_;
  auto logits = generator_.decoder().step(last_, *state_);
  if (generator_.words()) Generator::forbid_special_tokens(logits);
  last_ = t < kept_ ? options_.prefix.select(1, t) : sample_next_token(logits, options_, t);
  if (generator_.words()) {
    last_ = last_.masked_fill(ended_, Vocabulary::kEnd);
    ended_ |= last_ == Vocabulary::kEnd;
  }
  tokens_.select(1, t).copy_(last_);
  ++position_;
  return true;
}

int64_t Sampling::sampled() const {
  const auto steps = std::max<int64_t>(position_ - kept_, 0);
  return generator_.count_tokens(tokens_.narrow(1, position_ - steps, steps));
}

int64_t Sampling::place_of(int64_t t) const {
  return order_.defined() ? order_[t].item<int64_t>() : t;
}

torch::Tensor Sampling::sequences() const {
  if (!order_.defined()) return tokens_.narrow(1, 0, position_);
  return torch::empty_like(tokens_).index_copy_(1, order_, tokens_);
}

}  // namespace vitrine
