#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// One head of one sequence whose next token is generated: its query, and the keys and values of
/// earlier tokens in the slots of a KV cache, (slots, width) each.
struct DecodeHead {
  const float* q;
  const float* keys;
  const float* values;
  int64_t key_width, value_width;
  float scale;
};

/// out = softmax(scale q k^T) v over the keys and values in the slots that the token sees, 0 if
/// there are none. `scores` holds `visible` numbers.
void decode_attention(const DecodeHead& head, const int64_t* slots, int64_t visible, float* scores,
                      float* out);

}  // namespace vitrine::kernels
