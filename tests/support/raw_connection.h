#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "vitrine/core/error.h"

namespace vitrine::test {

/// A connection to this machine on which a test sends what it likes.
class RawConnection {
 public:
  explicit RawConnection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    check(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
          "no connection");
  }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  ~RawConnection() { ::close(socket_); }

  bool send(const std::string& bytes) {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes);
  }
  /// All that comes until the server closes.
  std::string rest() {
    std::string text;
    for (std::string next = some(); !next.empty(); next = some()) text += next;
    return text;
  }
  /// What comes next; empty if the server has closed.
  std::string some() {
    char buffer[4096];
    const auto count = ::recv(socket_, buffer, sizeof buffer, 0);
    return count > 0 ? std::string(buffer, static_cast<size_t>(count)) : "";
  }
  int socket() const { return socket_; }

 private:
  int socket_;
};

}  // namespace vitrine::test
