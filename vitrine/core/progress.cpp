#include "vitrine/core/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vitrine {
namespace {

constexpr double kTerminalPeriod = 0.2, kLogPeriod = 15;  // seconds between two drawings

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto h = whole / 3600, m = whole / 60 % 60, s = whole % 60;
  if (h > 0) return fmt::format("{}:{:02}:{:02}", h, m, s);
  return fmt::format("{}:{:02}", m, s);
}

std::string three_digits(double value) {
  const auto before_point = value > 0 ? std::floor(std::log10(value)) + 1 : 1;
  return fmt::format("{:.{}f}", value, std::max(0, 3 - static_cast<int>(before_point)));
}

Progress::Progress(std::string label, int64_t total, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_),
      terminal_(::isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_) draw(/*last=*/true);
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::update(int64_t done, const std::string& note) {
  done_ = done;
  note_ = note;
  const auto now = std::chrono::steady_clock::now();
  const double since = std::chrono::duration<double>(now - drawn_).count();
  if (since < (terminal_ ? kTerminalPeriod : kLogPeriod)) return;
  drawn_ = now;
  draw(/*last=*/false);
}

void Progress::set_budget(double used, double budget) {
  used_share_ = used / budget;
  seconds_left_ = std::max(0.0, budget - used);
}

void Progress::clear() {
  if (!terminal_ || !shown_) return;
  fmt::print(stderr, "\r\x1b[2K");
  std::fflush(stderr);
}

std::string Progress::text(bool last) const {
  const double elapsed = seconds();
  const auto here = done_ - started_at_;
  const double rate = elapsed > 0 ? static_cast<double>(here) / elapsed : 0;
  const double done_share =
      total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 0;
  const double fraction = std::min(1.0, std::max(done_share, used_share_));
  std::string line = fmt::format("{} {:3.0f}%", label_, std::floor(100 * fraction));
  if (terminal_) {
    constexpr int kWidth = 20;
    const int filled = static_cast<int>(fraction * kWidth);
    line += fmt::format(" [{:#<{}}{:.<{}}]", "", filled, "", kWidth - filled);
  }
  // the total of work that its budget ends says nothing
  line += used_share_ > done_share ? fmt::format(" {} {}", done_, unit_)
                                   : fmt::format(" {}/{} {}", done_, total_, unit_);
  if (rate > 0) line += fmt::format(", {:.{}f} {}/s", rate, rate < 10 ? 1 : 0, unit_);
  if (done_ >= total_ || last)
    line += fmt::format(", {}", duration_text(elapsed));
  else if (rate > 0)
    line += fmt::format(
        ", ETA {}",
        duration_text(std::min(static_cast<double>(total_ - done_) / rate, seconds_left_)));
  if (!note_.empty()) line += ", " + note_;
  return line;
}

void Progress::draw(bool last) {
  shown_ = true;
  const auto line = text(last);
  if (terminal_)
    fmt::print(stderr, "\r\x1b[2K{}{}", line, last ? "\n" : "");
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

}  // namespace vitrine
