#include "vitrine/infer/thread_choice.h"

#include <ATen/Parallel.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>

#include "vitrine/core/median.h"

namespace vitrine {
namespace {

constexpr double kWindow = 0.1;  // seconds
// A second: 30 on a quiet machine, more than 1,000 beside a busy process.
constexpr double kManyInterruptions = 300;
constexpr double kLongPass = 0.05;        // seconds: threads seldom wait, and one gains nothing
constexpr int64_t kTrials = 3;            // passes
constexpr double kTrialShare = 1.0 / 20;  // of the time, at most, goes to trials
constexpr double kShortestRest = 0.5;     // seconds between trials

/// How often threads of this process had to leave a core to others.
int64_t interruptions_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

void ThreadChoice::record(Threads threads, double seconds, int64_t interruptions) {
  if (threads != next()) return;  // began before the choice changed
  if (trying()) {
    trial_.push_back(seconds);
    if (--trials_left_ == 0) finish_trial();
    return;
  }
  window_.push_back(seconds);
  window_seconds_ += seconds;
  interruptions_ += interruptions;
  if (window_seconds_ < std::max(kWindow, rest_) || std::ssize(window_) < kTrials) return;
  const bool disturbed =
      static_cast<double>(interruptions_) > kManyInterruptions * window_seconds_ &&
      median(window_) < kLongPass;
  // One thread beside a busy process is not interrupted: it looks for itself whether all are
  // faster again.
  if (chosen_ == Threads::One || disturbed) {
    trials_left_ = kTrials;
    trial_.clear();
  } else {
    begin_window(/*rest=*/0);
  }
}

void ThreadChoice::finish_trial() {
  if (median(trial_) < median(window_)) chosen_ = other();
  double spent = 0;
  for (const auto seconds : trial_) spent += seconds;
  begin_window(std::max(kShortestRest, spent / kTrialShare));
}

void ThreadChoice::begin_window(double rest) {
  rest_ = rest;
  window_.clear();
  window_seconds_ = 0;
  interruptions_ = 0;
}

AdaptiveThreads::Pass::Pass(AdaptiveThreads& all, int64_t batch)
    : all_(all), batch_(batch), before_(at::get_num_threads()) {
  {
    const std::lock_guard lock(all_.mutex_);
    threads_ = all_.by_batch_[batch].next();
  }
  if (threads_ == ThreadChoice::Threads::One) omp_set_num_threads(1);
  interruptions_ = interruptions_now();
}

AdaptiveThreads::Pass::~Pass() {
  const auto seconds = watch_.seconds();
  const auto interruptions = interruptions_now() - interruptions_;
  omp_set_num_threads(before_);
  if (before_ == 1) return;  // there is nothing to choose
  const std::lock_guard lock(all_.mutex_);
  all_.by_batch_[batch_].record(threads_, seconds, interruptions);
}

}  // namespace vitrine
