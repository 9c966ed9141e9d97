#include "vitrine/serve/transport/connection_threads.h"

namespace vitrine::serve {
namespace {

thread_local bool refuses = false;

}  // namespace

bool ConnectionThreads::refusing() { return refuses; }

void ConnectionThreads::enqueue(std::function<void()> connection) {
  {
    const std::lock_guard lock(mutex_);
    const bool has_idle = idle_ > std::ssize(waiting_);
    if (has_idle || std::ssize(threads_) < limit_) {
      waiting_.push_back(std::move(connection));
      if (!has_idle) threads_.emplace_back([this] { work(); });
      changed_.notify_one();
      return;
    }
  }
  refuses = true;
  connection();
  refuses = false;
}

void ConnectionThreads::work() {
  for (;;) {
    std::function<void()> connection;
    {
      std::unique_lock lock(mutex_);
      ++idle_;
      changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      --idle_;
      if (waiting_.empty()) return;
      connection = std::move(waiting_.front());
      waiting_.pop_front();
    }
    connection();
  }
}

void ConnectionThreads::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

}  // namespace vitrine::serve
