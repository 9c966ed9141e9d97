#pragma once

#include <future>
#include <memory>

#include "vitrine/serve/server.h"

namespace vitrine::test {

/// Keeps a model's thread busy for as long as it lives.
class BusyModel {
 public:
  explicit BusyModel(const serve::Server& server, const std::string& name = "small")
      : active_(server.models().get(name)), hold_(waiting_hold()) {
    hold_->begun.get_future().wait();
  }
  BusyModel(const BusyModel&) = delete;
  BusyModel& operator=(const BusyModel&) = delete;
  ~BusyModel() { hold_->end.set_value(); }

  /// Gives each of the jobs that wait one turn, then keeps the thread busy again.
  void give_turns() {
    const auto next = waiting_hold();
    hold_->end.set_value();
    hold_ = next;
    hold_->begun.get_future().wait();
  }
  int64_t waiting() const { return active_->queue.waiting(); }

 private:
  struct Hold {
    std::promise<void> begun, end;
  };

  /// One that waits for its turn behind all others.
  std::shared_ptr<Hold> waiting_hold() const {
    const auto hold = std::make_shared<Hold>();
    active_->queue.take_turns([hold] {
      hold->begun.set_value();
      hold->end.get_future().wait();
      return false;
    });
    return hold;
  }

  const std::shared_ptr<serve::ActiveModel> active_;
  std::shared_ptr<Hold> hold_;
};

}  // namespace vitrine::test
