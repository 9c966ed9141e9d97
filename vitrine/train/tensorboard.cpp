#include "vitrine/train/tensorboard.h"

#include <fcntl.h>
#include <isa-l/crc.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "event.pb.h"
#include "vitrine/core/error.h"

namespace vitrine {
namespace {

/// The CRC-32C of a record, altered so that a record inside a record cannot pass for its own CRC.
uint32_t masked_crc(std::string_view bytes) {
  // ISA-L's parameter lacks const; it only reads.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const uint32_t crc = ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~0u);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <typename Number>
std::string_view bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

/// An event for the HParams page.
std::string hparams_event(const char* tag, const tensorboard::HParamsPluginData& data,
                          double wall_time) {
  tensorboard::Event event;
  event.set_wall_time(wall_time);
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(tag);
  auto* plugin = value->mutable_metadata()->mutable_plugin_data();
  plugin->set_plugin_name("hparams");
  plugin->set_content(data.SerializeAsString());
  return event.SerializeAsString();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace

EventWriter::EventWriter(const fs::path& folder) {
  make_folder(folder);
  const std::time_t now = std::time(nullptr);
  const auto name = fmt::format("events.out.tfevents.{}.{}", now, host_name());
  for (int64_t same_second = 0; fd_ < 0; ++same_second) {
    path_ = folder / (same_second == 0 ? name : fmt::format("{}.{}", name, same_second));
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    check(fd_ >= 0 || errno == EEXIST, "tensorboard: cannot create {}: {}", path_.string(),
          std::strerror(errno));
  }
  tensorboard::Event event;
  event.set_wall_time(static_cast<double>(now));
  event.set_file_version("brain.Event:2");
  write_record(event.SerializeAsString());
}

EventWriter::~EventWriter() { ::close(fd_); }

void EventWriter::scalar(std::string_view tag, int64_t step, double value, double wall_time) {
  tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  auto* point = event.mutable_summary()->add_value();
  point->set_tag(std::string(tag));
  point->set_simple_value(static_cast<float>(value));
  write_record(event.SerializeAsString());
}

void EventWriter::start_session(const HParams& hparams, double wall_time) {
  tensorboard::HParamsPluginData data;
  auto* session = data.mutable_session_start_info();
  session->set_start_time_secs(wall_time);
  for (const auto& [name, setting] : hparams) {
    auto& value = (*session->mutable_hparams())[name];
    if (const auto* truth = std::get_if<bool>(&setting)) value.set_bool_value(*truth);
    if (const auto* number = std::get_if<double>(&setting)) value.set_number_value(*number);
    if (const auto* text = std::get_if<std::string>(&setting)) value.set_string_value(*text);
  }
  write_record(hparams_event("_hparams_/session_start_info", data, wall_time));
}

void EventWriter::end_session(double wall_time) {
  tensorboard::HParamsPluginData data;
  data.mutable_session_end_info()->set_status(tensorboard::STATUS_SUCCESS);
  data.mutable_session_end_info()->set_end_time_secs(wall_time);
  write_record(hparams_event("_hparams_/session_end_info", data, wall_time));
}

void EventWriter::flush() {
  const bool synced = ::fdatasync(fd_) == 0;
  check(synced, "tensorboard: {}: {}", path_.string(), std::strerror(errno));
}

void EventWriter::write_record(std::string_view content) {
  const uint64_t length = content.size();
  const auto length_bytes = bytes_of(length);
  std::string record(length_bytes);
  record += bytes_of(masked_crc(length_bytes));
  record += content;
  record += bytes_of(masked_crc(content));
  errno = 0;
  if (::write(fd_, record.data(), record.size()) == static_cast<ssize_t>(record.size())) {
    size_ += static_cast<int64_t>(record.size());
    return;
  }
  const int cause = errno != 0 ? errno : ENOSPC;  // a short write means a full disk
  // Half a record would make the next ones unreadable.
  const bool cut = ::ftruncate(fd_, size_) == 0 && ::lseek(fd_, size_, SEEK_SET) == size_;
  fail("tensorboard: cannot write {}: {}; free space{}", path_.string(), std::strerror(cause),
       cut ? ", earlier records are untouched" : "");
}

}  // namespace vitrine
