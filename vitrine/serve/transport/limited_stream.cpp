#include "vitrine/serve/transport/limited_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace vitrine::serve {
namespace {

using std::chrono::milliseconds;

constexpr auto kWriteTime = std::chrono::seconds(60);  // for the next piece of an answer
constexpr auto kLinger = std::chrono::seconds(1);
constexpr auto kStopCheck = milliseconds(100);

void address_of(const sockaddr_storage& address, std::string& ip, int& port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
  }
  ip = text.data();
}

}  // namespace

bool LimitedStream::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{.fd = socket_, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<int64_t>(left.count(), 60000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool LimitedStream::wait_for_request(Clock::time_point deadline,
                                     const std::function<bool()>& stop) {
  if (begin_ < end_) return true;
  while (Clock::now() < deadline && !stop())
    if (wait(POLLIN, std::min(deadline, Clock::now() + kStopCheck))) return true;
  return false;
}

void LimitedStream::close_gently() {
  ::shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + kLinger;
  while (wait(POLLIN, deadline) && ::recv(socket_, buffer_.data(), buffer_.size(), 0) > 0) {
  }
}

bool LimitedStream::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = write(bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool LimitedStream::is_connected() const {
  pollfd entry{.fd = socket_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&entry, 1, /*timeout=*/0) == 0;
}

void LimitedStream::discard() {
  while (::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0) {
  }
}

bool LimitedStream::is_readable() const { return begin_ < end_ || wait(POLLIN, deadline_); }
bool LimitedStream::is_writable() const { return wait(POLLOUT, Clock::now() + kWriteTime); }

ssize_t LimitedStream::read(char* to, size_t size) {
  if (begin_ == end_) {
    if (allowed_ <= 0 || !wait(POLLIN, deadline_)) return -1;
    const auto most = std::min<size_t>(buffer_.size(), static_cast<size_t>(allowed_));
    const auto count = ::recv(socket_, buffer_.data(), most, 0);
    if (count <= 0) return count;
    allowed_ -= count;
    begin_ = 0;
    end_ = static_cast<size_t>(count);
  }
  const auto count = std::min(size, end_ - begin_);
  std::memcpy(to, buffer_.data() + begin_, count);
  begin_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t LimitedStream::write(const char* from, size_t size) {
  if (!is_writable()) return -1;
  return ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void LimitedStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    address_of(address, ip, port);
}

void LimitedStream::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    address_of(address, ip, port);
}

}  // namespace vitrine::serve
