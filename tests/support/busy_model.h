#pragma once

#include <future>
#include <thread>

#include "vitrine/serve/server.h"

namespace vitrine::test {

/// Keeps a model's thread busy for as long as it lives.
class BusyModel {
 public:
  explicit BusyModel(const serve::Server& server, const std::string& name = "small")
      : active_(server.models().get(name)) {
    thread_ = std::thread([this] {
      active_->queue.run(
          [this] {
            begun_.set_value();
            end_.get_future().wait();
            return 0;
          },
          serve::kNoDeadline);
    });
    begun_.get_future().wait();
  }
  ~BusyModel() {
    end_.set_value();
    thread_.join();
  }
  int64_t waiting() const { return active_->queue.waiting(); }

 private:
  std::shared_ptr<serve::ActiveModel> active_;
  std::promise<void> begun_, end_;
  std::thread thread_;
};

}  // namespace vitrine::test
