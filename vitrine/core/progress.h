#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace vitrine {

/// A progress bar with ETA on stderr: redrawn in place on a terminal, a line now and then
/// elsewhere; quick work shows none. The last state stays on screen.
class Progress {
 public:
  Progress(std::string label, int64_t total, std::string unit);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Moves to `done` of the total; `note` stands behind the bar (loss, accuracy, ...).
  void update(int64_t done, const std::string& note = "");
  /// The work will be stopped when `used` seconds have become `budget`, done or not.
  void set_budget(double used, double budget);
  /// Work that was done before this process started (a resume): it does not count for the speed.
  void start_at(int64_t done) { started_at_ = done; }
  double seconds() const;
  /// The state as text; at the end (`last`) with the time it took in place of the ETA.
  std::string text(bool last) const;
  /// Makes room for a line of other text on a terminal; the next update draws the bar below it.
  void clear();

 private:
  void draw(bool last);

  std::string label_, unit_, note_;
  int64_t total_, done_ = 0, started_at_ = 0;
  double used_share_ = 0, seconds_left_ = std::numeric_limits<double>::infinity();
  std::chrono::steady_clock::time_point start_, drawn_;
  bool terminal_, shown_ = false;
};

/// "1:02:03", "2:03" or "3.1 s".
std::string duration_text(double seconds);

/// A speed or time with three significant digits, never as a power of ten: "0.0123", "4.56",
/// "2310".
std::string three_digits(double value);

}  // namespace vitrine
