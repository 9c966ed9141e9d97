#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace vitrine {

/// Tasks 0 .. count - 1. A thread takes the next ones when it is done with its own, so that none
/// waits long for one that something else slows. Which thread does what must not matter.
class TaskQueue {
 public:
  /// `at_once` are taken together; fewer than `least` are not worth a thread.
  TaskQueue(int64_t count, int64_t at_once = 1, int64_t least = 1)
      : count_(count),
        at_once_(at_once),
        threads_(std::clamp<int64_t>(count / least, 1, at::get_num_threads())) {}

  /// In every thread `work(next)`, where `next(do_task)` calls `do_task(task)` for its tasks.
  template <typename Work>
  void run(const Work& work) {
    at::parallel_for(0, threads_, 1, [&](int64_t, int64_t) {
      work([&](const auto& do_task) {
        for (int64_t begin; (begin = next_.fetch_add(at_once_)) < count_;)
          for (int64_t task = begin; task < std::min(begin + at_once_, count_); ++task)
            do_task(task);
      });
    });
  }

 private:
  const int64_t count_, at_once_, threads_;
  std::atomic<int64_t> next_{0};
};

}  // namespace vitrine
