#include "vitrine/train/op_profile.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace vitrine {
namespace {

using Clock = std::chrono::steady_clock;

struct Running {
  Clock::time_point start;
  double inside = 0;  // milliseconds of the operators that it called
};

/// Callbacks are plain functions, so what they count is the thread's.
thread_local std::vector<Running> running;
thread_local std::unordered_map<std::string, OpTime> times;

std::unique_ptr<at::ObserverContext> start(const at::RecordFunction&) {
  running.push_back({Clock::now()});
  return nullptr;
}

void finish(const at::RecordFunction& op, at::ObserverContext*) {
  if (running.empty()) return;  // it began before the profile
  const auto [start, inside] = running.back();
  running.pop_back();
  const double whole = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (!running.empty()) running.back().inside += whole;
  auto& time = times[op.name()];
  ++time.calls;
  time.milliseconds += whole - inside;
}

}  // namespace

OpProfile::OpProfile() {
  running.clear();
  times.clear();
  callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(start, finish));
}

OpProfile::~OpProfile() { at::removeCallback(callback_); }

std::vector<OpTime> OpProfile::by_time() const {
  std::vector<OpTime> result;
  for (const auto& [name, time] : times)
    result.push_back({.name = name, .calls = time.calls, .milliseconds = time.milliseconds});
  std::sort(result.begin(), result.end(), [](const OpTime& a, const OpTime& b) {
    return std::tie(b.milliseconds, a.name) < std::tie(a.milliseconds, b.name);
  });
  return result;
}

}  // namespace vitrine
