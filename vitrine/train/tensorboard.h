#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// Settings of a run by name ("train.optimizer.lr"), as TensorBoard's HParams page shows them.
using HParams = std::vector<std::pair<std::string, std::variant<bool, double, std::string>>>;

/// Writes scalars to a new `events.out.tfevents.<time>.<host>` file, which TensorBoard shows. Every
/// record reaches the system as soon as it is made: a killed process leaves a readable file.
class EventWriter {
 public:
  explicit EventWriter(const fs::path& folder);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter();

  /// Adds one point to the curve `tag` ("train/loss"); `wall_time` in seconds since 1970.
  void scalar(std::string_view tag, int64_t step, double value, double wall_time);
  /// Makes the folder a session of the HParams page; scalars below it are the session's metrics.
  void start_session(const HParams& hparams, double wall_time);
  void end_session(double wall_time);
  /// Brings all records to the disk, so that they survive even a power cut.
  void flush();

  const fs::path& path() const { return path_; }

 private:
  void write_record(std::string_view content);

  fs::path path_;
  int fd_ = -1;
  int64_t size_ = 0;  // bytes of complete records
};

}  // namespace vitrine
