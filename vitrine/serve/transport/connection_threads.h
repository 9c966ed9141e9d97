#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "vitrine/serve/transport/httplib_compat.h"

namespace vitrine::serve {

/// A thread per connection, reused, up to a limit. A connection beyond it is handled by the thread
/// that accepts, with `refusing()` true, and must be short.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(int64_t limit) : limit_(limit) {}

  Enqueued enqueue(std::function<void()> connection) override;
  void shutdown() override;

  /// Whether this thread shall only refuse.
  static bool refusing();

 private:
  void work();
  /// False at the limit, or if the system has none. The mutex is held.
  bool add_thread();

  const int64_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  int64_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace vitrine::serve
