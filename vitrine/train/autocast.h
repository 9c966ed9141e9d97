#pragma once

#include "vitrine/ops/torch_compat.h"

namespace vitrine {

/// Lets the forward pass run in bfloat16 where that is safe.
class Autocast {
 public:
  explicit Autocast(bool on) : on_(on) {
    if (on_) set_bf16_autocast(true);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast() {
    if (!on_) return;
    set_bf16_autocast(false);
    at::autocast::clear_cache();
  }

 private:
  bool on_;
};

}  // namespace vitrine
