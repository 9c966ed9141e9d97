#include "bench/serve/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "vitrine/core/error.h"

namespace vitrine::bench {

Connection::Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int yes = 1;
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  check(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
        "no connection to port {}", port);
}

Connection::~Connection() { ::close(socket_); }

void Connection::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    check(count > 0, "the server closed the connection");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void Connection::receive(std::string& to) const {
  std::array<char, 16384> buffer;
  const auto count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  check(count > 0, "the server closed the connection, or nothing came for 30 s");
  to.append(buffer.data(), static_cast<size_t>(count));
}

Answer Connection::ask(std::string_view head, std::string_view body) {
  send(head);
  send(body);
  std::string text;
  size_t end = 0;
  while ((end = text.find("\r\n\r\n")) == text.npos) receive(text);
  Answer answer{.head = text.substr(0, end + 2), .body = text.substr(end + 4)};
  const std::string length = "\r\nContent-Length: ";
  const auto at = answer.head.find(length);
  check(answer.head.starts_with("HTTP/1.1 ") && at != answer.head.npos, "no answer: {}", text);
  answer.status = std::atoi(answer.head.c_str() + 9);
  const auto bytes = std::strtoull(answer.head.c_str() + at + length.size(), nullptr, 10);
  while (answer.body.size() < bytes) receive(answer.body);
  check(answer.body.size() == bytes, "an answer of {} bytes has {}", bytes, answer.body.size());
  return answer;
}

bool Connection::has_unread() const {
  char byte = 0;
  return ::recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

std::string get(int port, const std::string& path) {
  auto answer =
      Connection(port).ask(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path), "");
  check(answer.status == 200, "{}: {}", path, answer.body);
  return answer.body;
}

}  // namespace vitrine::bench
