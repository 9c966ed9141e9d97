#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "vitrine/core/error.h"

namespace vitrine::test {

/// An HTTP server on this machine with one file, which it gives in pieces: it drops the connection
/// after so many bytes of each answer.
class FileServer {
 public:
  FileServer(std::string content, size_t drop_after) : drop_after_(drop_after) {
    set_content(std::move(content), "\"1\"");
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool ok = ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    ::listen(listener_, 8) == 0 &&
                    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    check(ok, "file server: no port");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;
  ~FileServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url(const std::string& file) const {
    return fmt::format("http://127.0.0.1:{}/files/{}", port_, file);
  }
  void set_content(std::string content, std::string etag) {
    const std::lock_guard lock(mutex_);
    content_ = std::move(content);
    etag_ = std::move(etag);
  }
  void set_drop_after(size_t bytes) {
    const std::lock_guard lock(mutex_);
    drop_after_ = bytes;
  }
  /// Where each answer so far began in the file.
  std::vector<size_t> begins() const {
    const std::lock_guard lock(mutex_);
    return begins_;
  }

 private:
  void serve() {
    for (;;) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      answer(connection);
      ::close(connection);
    }
  }

  static std::string header(const std::string& request, const std::string& name) {
    const auto at = request.find("\r\n" + name + ": ");
    if (at == request.npos) return "";
    const auto begin = at + name.size() + 4;
    return request.substr(begin, request.find("\r\n", begin) - begin);
  }

  void answer(int connection) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == request.npos) {
      const auto count = ::recv(connection, buffer, sizeof buffer, 0);
      if (count <= 0) return;
      request.append(buffer, static_cast<size_t>(count));
    }
    const std::lock_guard lock(mutex_);
    const auto range = header(request, "Range");
    const bool part = !range.empty() && header(request, "If-Range") == etag_;
    const size_t begin = part ? std::stoull(range.substr(range.find('=') + 1)) : 0;
    begins_.push_back(begin);
    auto head =
        fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nETag: {}\r\n",
                    part ? "206 Partial Content" : "200 OK", content_.size() - begin, etag_);
    if (part)
      head += fmt::format("Content-Range: bytes {}-{}/{}\r\n", begin, content_.size() - 1,
                          content_.size());
    const auto all = head + "Connection: close\r\n\r\n" + content_.substr(begin, drop_after_);
    for (size_t sent = 0; sent < all.size();) {
      const auto count = ::send(connection, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
  }

  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::string content_, etag_;
  size_t drop_after_;
  std::vector<size_t> begins_;
  std::thread thread_;
};

}  // namespace vitrine::test
