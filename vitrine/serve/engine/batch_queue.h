#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "vitrine/core/error.h"

namespace vitrine::serve {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

struct BatchLimits {
  int64_t queue = 8;      // requests that wait for a batch; more are refused
  int64_t max_batch = 8;  // examples in one forward pass
  double max_delay = 2;   // milliseconds that the first of a batch waits for others
  int64_t jobs = 64;      // other work that waits, such as explanations; more is refused
};

/// The queue is full; the request may be sent again later.
class QueueFull : public Error {
  using Error::Error;
};
/// The answer was not there in time.
class DeadlinePassed : public Error {
  using Error::Error;
};

/// One thread that computes for many: it joins waiting examples to batches and does other work,
/// such as explanations, in between. All tensor work of a model happens on it, so that the threads
/// of connections never compete for the cores. Its destructor finishes what was accepted.
class BatchQueue {
 public:
  /// Rows of inputs to rows of outputs.
  using Forward = std::function<std::vector<float>(std::span<const float> inputs, int64_t rows)>;
  /// Told the rows of every forward pass.
  using Observe = std::function<void(int64_t rows)>;

  BatchQueue(const BatchLimits& limits, Forward forward, Observe observe);
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;
  ~BatchQueue();

  /// One of the places of those that wait for a batch. Taken before a request is decoded, so that
  /// one that is refused costs nothing.
  using Place = std::shared_ptr<const void>;
  /// Throws `QueueFull`.
  Place reserve();
  /// The outputs of `rows` examples; their batch frees the place when it begins. Throws
  /// `DeadlinePassed`, or what `forward` throws.
  std::vector<float> infer(Place place, std::vector<float> inputs, int64_t rows, Deadline deadline);
  /// The same; throws also `QueueFull`.
  std::vector<float> infer(std::vector<float> inputs, int64_t rows, Deadline deadline) {
    return infer(reserve(), std::move(inputs), rows, deadline);
  }
  /// What `work` returns, called on the thread; throws as `infer` does. It must own all it uses: it
  /// may still run when the caller has left at the deadline.
  template <typename Work>
  auto run(Work work, Deadline deadline) {
    const auto result = std::make_shared<std::optional<decltype(work())>>();
    submit_work([result, work = std::move(work)] { *result = work(); }, deadline);
    return std::move(**result);
  }
  /// Calls `turn` on the thread again and again until it returns false, with what else waits in
  /// between; returns at once. Throws `QueueFull`. `turn` must not throw.
  void take_turns(std::function<bool()> turn);

  /// How many have not begun.
  int64_t waiting() const;

 private:
  struct Job;
  using Jobs = std::vector<std::shared_ptr<Job>>;

  void submit_work(std::function<void()> work, Deadline deadline);
  std::vector<float> submit(std::shared_ptr<Job> job);
  void enqueue(std::shared_ptr<Job> job);
  int64_t not_begun(bool other_work) const;
  void serve();
  /// The jobs to do next: examples, or a single other job; none at the end.
  Jobs next();
  void compute(const Jobs& jobs);

  const BatchLimits limits_;
  const Forward forward_;
  const Observe observe_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::atomic<int64_t> free_places_;
  std::thread thread_;
};

}  // namespace vitrine::serve
