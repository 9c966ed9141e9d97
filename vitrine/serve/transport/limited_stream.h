#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <functional>
#include <string_view>

#include "vitrine/serve/http.h"

namespace vitrine::serve {

/// A socket that gives up when a request as a whole takes too long or is too large, however slowly
/// or steadily its bytes come: httplib's own time-outs begin again with every byte.
class LimitedStream : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LimitedStream(socket_t socket) : socket_(socket) {}

  /// From now on this many bytes may come in, until `deadline`.
  void allow(int64_t bytes, Clock::time_point deadline) {
    allowed_ = bytes;
    deadline_ = deadline;
  }
  /// Whether a byte came before `deadline` or `stop` said so.
  bool wait_for_request(Clock::time_point deadline, const std::function<bool()>& stop);
  /// Sends what is left, then reads and forgets for a moment what the client still sends, so that
  /// it sees the answer instead of a reset.
  void close_gently();

  /// Sends all of it; false if the client has gone or does not read.
  bool write_all(std::string_view bytes);
  /// Whether the client has not closed its side.
  bool is_connected() const;
  /// Forgets what the client has sent so far, without waiting.
  void discard();

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

  bool unread_body = false;  // the next bytes may be no request: the connection must end
  std::function<void(BodyStream&)> body{};  // of the answer whose header was sent, still to be made
  std::shared_ptr<const void> held{};       // by the answer, until it is sent

 private:
  /// Waits until `deadline` for the socket to be readable or writable.
  bool wait(short events, Clock::time_point deadline) const;

  socket_t socket_;
  int64_t allowed_ = 0;
  Clock::time_point deadline_{};
  std::array<char, 16384> buffer_{};
  size_t begin_ = 0, end_ = 0;  // of what has been received and not yet read
};

}  // namespace vitrine::serve
