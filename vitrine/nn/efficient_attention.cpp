#include "vitrine/nn/efficient_attention.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/attention.h"
#include "vitrine/nn/linformer_attention.h"
#include "vitrine/nn/performer_attention.h"
#include "vitrine/nn/reformer_attention.h"

namespace vitrine {

const Choices<AttentionKind>& attention_kind_names() {
  static const Choices<AttentionKind> names = {{"softmax", AttentionKind::Softmax},
                                               {"linformer", AttentionKind::Linformer},
                                               {"performer", AttentionKind::Performer},
                                               {"reformer", AttentionKind::Reformer}};
  return names;
}

void EfficientAttentionConfig::visit(Fields& f) {
  f("kind", kind, attention_kind_names(),
    "softmax attention (dense), or one of the efficient kinds");
  f("length", length, "linformer: projected length of keys and values");
  f("features", features, "performer: number of random features");
  f("bucket", bucket, "reformer: bucket size in tokens");
  f("rounds", rounds, "reformer: hashing rounds");
}

std::shared_ptr<SelfAttentionImpl> make_efficient_attention(
    const AttentionConfig& attention, const EfficientAttentionConfig& config) {
  const auto tokens = attention.grid.tokens();
  switch (config.kind) {
    case AttentionKind::Softmax:
      return std::make_shared<AttentionImpl>(attention);
    case AttentionKind::Linformer:
      return std::make_shared<LinformerAttentionImpl>(LinformerAttentionConfig{
          .attention = attention, .tokens = tokens, .length = config.length});
    case AttentionKind::Performer:
      return std::make_shared<PerformerAttentionImpl>(
          PerformerAttentionConfig{.attention = attention, .features = config.features});
    case AttentionKind::Reformer:
      return std::make_shared<ReformerAttentionImpl>(
          ReformerAttentionConfig{.attention = attention,
                                  .tokens = tokens,
                                  .bucket = config.bucket,
                                  .rounds = config.rounds});
  }
  fail("attention: kind {} is not known", static_cast<int>(config.kind));
}

}  // namespace vitrine
