#pragma once

#include "vitrine/core/fields.h"
#include "vitrine/nn/self_attention.h"

namespace vitrine {

/// Softmax attends to all pairs of tokens; the others cost time and memory that grow with the
/// number of tokens alone.
enum class AttentionKind { Softmax, Linformer, Performer, Reformer };
const Choices<AttentionKind>& attention_kind_names();

/// Which attention a network has, and the settings of each kind.
struct EfficientAttentionConfig {
  AttentionKind kind = AttentionKind::Softmax;
  int64_t length = 64;     // linformer
  int64_t features = 256;  // performer
  int64_t bucket = 32;     // reformer
  int64_t rounds = 4;      // reformer

  void visit(Fields& f);
};

/// The layer that `kind` names. Linformer and reformer need `attention.grid`, for the number of
/// tokens of every input.
std::shared_ptr<SelfAttentionImpl> make_efficient_attention(const AttentionConfig& attention,
                                                            const EfficientAttentionConfig& config);

}  // namespace vitrine
