#include "vitrine/train/distributed/rank_monitor.h"

#include <fmt/format.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

using std::chrono::seconds;

constexpr auto kBetween = seconds(2);
constexpr const char* kLeft = "left";

std::string key_of(int64_t rank) { return fmt::format("beat/{}", rank); }

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string silent(int64_t rank, std::chrono::steady_clock::duration since) {
  return fmt::format("rank {} has not answered for {} s", rank,
                     std::chrono::duration_cast<seconds>(since).count());
}

}  // namespace

RankMonitor::RankMonitor(c10::intrusive_ptr<c10d::Store> store, int64_t rank, int64_t size)
    : store_(std::move(store)), rank_(rank), beats_(static_cast<size_t>(size)) {
  store_->set(key_of(rank_), bytes_of("0"));
  thread_ = std::thread([this] { work(); });
}

RankMonitor::~RankMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RankMonitor::work() {
  try {
    for (int64_t count = 1;; ++count) {
      exchange(count);
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kBetween, [&] { return stopping_; })) break;
    }
    store_->set(key_of(rank_), bytes_of(kLeft));
  } catch (
      const std::exception&) {  // rank 0 has gone: whoever waits for it is told by its connection
  }
}

void RankMonitor::exchange(int64_t count) {
  store_->set(key_of(rank_), bytes_of(std::to_string(count)));
  for (int64_t r = 0; r < std::ssize(beats_); ++r) {
    const auto bytes = store_->get(key_of(r));
    const std::lock_guard lock(mutex_);
    std::string sign(bytes.begin(), bytes.end());
    reached_ = Clock::now();
    if (sign != beats_[r].sign || sign == kLeft) beats_[r] = {std::move(sign), reached_};
  }
}

std::string RankMonitor::trouble(seconds silence) const {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now - reached_ > silence) return silent(/*rank=*/0, now - reached_);
  for (int64_t r = 0; r < std::ssize(beats_); ++r)
    if (r != rank_ && beats_[r].sign != kLeft && now - beats_[r].at > silence)
      return silent(r, now - beats_[r].at);
  return "";
}

}  // namespace vitrine
