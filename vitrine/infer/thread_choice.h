#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "vitrine/core/stopwatch.h"

namespace vitrine {

/// Decides whether passes that take about equally long run on all threads or on one. Where another
/// process keeps a core busy, the threads of a short pass wait for the one that was interrupted,
/// and one alone can be faster. Interruptions are the sign to try that; what is measured decides,
/// and after a while it is tried again.
class ThreadChoice {
 public:
  enum class Threads { All, One };

  Threads next() const { return trying() ? other() : chosen_; }
  /// A pass with `threads` took so long, and the process was interrupted so many times meanwhile.
  void record(Threads threads, double seconds, int64_t interruptions);

 private:
  bool trying() const { return trials_left_ > 0; }
  Threads other() const { return chosen_ == Threads::All ? Threads::One : Threads::All; }
  void finish_trial();
  void begin_window(double rest);

  Threads chosen_ = Threads::All;
  std::vector<double> window_, trial_;  // seconds of passes
  double window_seconds_ = 0, rest_ = 0;
  int64_t interruptions_ = 0, trials_left_ = 0;
};

/// Runs the passes of a network with the threads that `ThreadChoice` chooses, apart for each size
/// of batch. Several threads may use it at once.
class AdaptiveThreads {
 public:
  /// `work()` with the chosen number of threads for what this thread computes in parallel.
  template <typename Work>
  auto run(int64_t batch, const Work& work) {
    const Pass pass(*this, batch);
    return work();
  }

 private:
  class Pass {
   public:
    Pass(AdaptiveThreads& all, int64_t batch);
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass();

   private:
    AdaptiveThreads& all_;
    int64_t batch_;
    ThreadChoice::Threads threads_;
    int before_;  // threads
    Stopwatch watch_;
    int64_t interruptions_;
  };

  std::mutex mutex_;
  std::map<int64_t, ThreadChoice> by_batch_;
};

}  // namespace vitrine
