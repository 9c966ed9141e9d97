#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "vitrine/serve/http.h"

namespace vitrine::serve {

/// The memory of large answers from the time they are asked for until they are sent, within a
/// limit.
class AnswerMemory {
 public:
  explicit AnswerMemory(int64_t limit) : limit_(limit) {}

  /// So many bytes for as long as the result lives; refuses with 503 above the limit. One answer is
  /// let in however large it is.
  std::shared_ptr<const void> hold(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    require(used_ == 0 || used_ + bytes <= limit_, 503,
            "the answers under way take {} MB, and this one would take {} MB; try again later",
            used_ >> 20, bytes >> 20);
    used_ += bytes;
    return {this, [this, bytes](const void*) {
              const std::lock_guard lock(mutex_);
              used_ -= bytes;
            }};
  }

 private:
  const int64_t limit_;
  std::mutex mutex_;
  int64_t used_ = 0;
};

}  // namespace vitrine::serve
