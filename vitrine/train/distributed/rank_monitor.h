#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vitrine {

/// Notices ranks that hang or cannot be reached; those that die close their connections, which
/// others notice anyway.
class RankMonitor {
 public:
  /// `store` serves this monitor alone. Rank 0 holds it.
  RankMonitor(c10::intrusive_ptr<c10d::Store> store, int64_t rank, int64_t size);
  RankMonitor(const RankMonitor&) = delete;
  RankMonitor& operator=(const RankMonitor&) = delete;
  /// Tells the others that this rank leaves.
  ~RankMonitor();

  /// Which rank has been silent for so long; empty if none has.
  std::string trouble(std::chrono::seconds silence = kSilence) const;

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kSilence{20};

  /// What is known of a rank: its last sign of life, and when it changed.
  struct Beat {
    std::string sign{};
    Clock::time_point at = Clock::now();
  };

  void work();
  void exchange(int64_t count);

  const c10::intrusive_ptr<c10d::Store> store_;
  const int64_t rank_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Beat> beats_;
  Clock::time_point reached_ = Clock::now();  // when rank 0 last answered
  std::thread thread_;
};

}  // namespace vitrine
