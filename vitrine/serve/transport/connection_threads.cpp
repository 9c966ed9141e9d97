#include "vitrine/serve/transport/connection_threads.h"

#include <system_error>

namespace vitrine::serve {
namespace {

thread_local bool refuses = false;

}  // namespace

bool ConnectionThreads::refusing() { return refuses; }

Enqueued ConnectionThreads::enqueue(std::function<void()> connection) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_ > std::ssize(waiting_) || add_thread()) {
      waiting_.push_back(std::move(connection));
      changed_.notify_one();
      return Enqueued(true);
    }
  }
  refuses = true;
  connection();
  refuses = false;
  return Enqueued(true);
}

bool ConnectionThreads::add_thread() {
  if (std::ssize(threads_) >= limit_) return false;
  try {
    threads_.emplace_back([this] { work(); });
    return true;
  } catch (const std::system_error&) {  // the system has no more threads
    return false;
  }
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
