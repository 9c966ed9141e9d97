#include "vitrine/infer/sparse_decoder.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {

KeyCalendar::KeyCalendar(const AttentionPattern& pattern, int64_t tokens) : slot_(tokens) {
  std::vector<int64_t> last_use(tokens);
  for (int64_t j = 0; j < tokens; ++j) {
    last_use[j] = tokens - 1;
    while (last_use[j] > j && !pattern.allows(last_use[j], j)) --last_use[j];
  }
  std::vector<int64_t> free;
  std::vector<std::vector<int64_t>> ends(tokens);  // slots that come free after a token
  for (int64_t i = 0; i < tokens; ++i) {
    if (free.empty()) free.push_back(slots_++);
    slot_[i] = free.back();
    free.pop_back();
    ends[last_use[i]].push_back(slot_[i]);
    std::vector<int64_t> seen;
    for (int64_t j = 0; j <= i; ++j)
      if (pattern.allows(i, j)) seen.push_back(slot_[j]);
    seen_.push_back(torch::tensor(seen, torch::kLong));
    free.insert(free.end(), ends[i].begin(), ends[i].end());
  }
}

SparseDecoder::SparseDecoder(std::shared_ptr<SparseTransformer> model, int64_t batch)
    : model_(std::move(model)), batch_(batch) {
  check(batch > 0, "sample: {} sequences", batch);
  const torch::NoGradGuard no_grad;
  model_->eval();
  places_ = model_->position_table().squeeze(0).clone();
  for (size_t i = 0; i < model_->blocks->size(); ++i)
    layers_.push_back(heads_of(model_->blocks->at<SparseBlockImpl>(i).attn->config));
}

std::vector<SparseDecoder::KeptHeads> SparseDecoder::heads_of(const SparseAttentionConfig& config) {
  const auto calendar_of = [&](const AttentionPattern& pattern) {
    for (const auto& [known, calendar] : calendars_)
      if (known == pattern) return calendar;
    const auto calendar = std::make_shared<const KeyCalendar>(pattern, model_->config.length());
    calendars_.emplace_back(pattern, calendar);
    return calendar;
  };
  const auto H = config.heads();
  const auto options = model_->head->weight.options();
  std::vector<KeptHeads> kept;
  for (const auto& group : config.groups()) {
    const auto calendar = calendar_of(group.pattern);
    const auto room = [&](int64_t width) {
      return torch::empty({calendar->slots(), batch_, group.count, width / H}, options);
    };
    kept.push_back({group.first, group.count, calendar, room(config.key_width), room(config.dim)});
  }
  return kept;
}

torch::Tensor SparseDecoder::attend(std::vector<KeptHeads>& kept, SparseAttentionImpl& layer,
                                    const torch::Tensor& x) {
  const auto& config = layer.config;
  const auto H = config.heads(), K = config.key_width;
  const auto packed = layer.qkv(x);  // (B, 2 K + C)
  const auto part = [&](int64_t first, int64_t width) {
    return packed.narrow(1, first, width).view({batch_, H, width / H});
  };
  const auto q = part(0, K), k = part(K, K), v = part(2 * K, config.dim);
  std::vector<torch::Tensor> mixed;
  for (auto& heads : kept) {
    const auto own = [&](const torch::Tensor& t) { return t.narrow(1, heads.first, heads.count); };
    const auto slot = heads.calendar->slot(position_);
    heads.keys[slot] = own(k);
    heads.values[slot] = own(v);
    const auto& seen = heads.calendar->seen(position_);
    if (seen.numel() == 0) {
      mixed.push_back(torch::zeros_like(own(v)));
      continue;
    }
    const auto keys = heads.keys.index_select(0, seen), values = heads.values.index_select(0, seen);
    const auto scores = (keys * own(q)).sum(-1) / std::sqrt(static_cast<double>(K / H));
    mixed.push_back((scores.softmax(0).unsqueeze(-1) * values).sum(0));  // (B, count, width)
  }
  return layer.proj(torch::cat(mixed, 1).flatten(1));
}

torch::Tensor SparseDecoder::next(const torch::Tensor& before) {
  const torch::NoGradGuard no_grad;
  check(position_ < model_->config.length(), "sample: the sequence has only {} bytes",
        model_->config.length());
  auto x = position_ == 0 ? model_->start.unsqueeze(0).expand({batch_, model_->config.dim})
                          : model_->embedding(before) + places_[position_ - 1];  // (B, C)
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    auto& block = model_->blocks->at<SparseBlockImpl>(layer);
    x = x + attend(layers_[layer], *block.attn, layer_norm(x, block.norm1));
    x = x + block.mlp(layer_norm(x, block.norm2));
  }
  ++position_;
  return model_->head(layer_norm(x, model_->norm));
}

int64_t SparseDecoder::memory() const {
  int64_t bytes = 0;
  for (const auto& layer : layers_)
    for (const auto& heads : layer)
      bytes += static_cast<int64_t>(heads.keys.nbytes() + heads.values.nbytes());
  return bytes;
}

}  // namespace vitrine
