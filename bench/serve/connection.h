#pragma once

#include <string>
#include <string_view>

namespace vitrine::bench {

struct Answer {
  int status = 0;
  std::string head, body;
};

/// A connection to a server on this machine that stays open, as lean as can be: what the client
/// takes of the processor the server does not get.
class Connection {
 public:
  explicit Connection(int port);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Sends a request in two pieces and waits for its answer; throws if none comes.
  Answer ask(std::string_view head, std::string_view body);
  /// Whether there are bytes that nobody asked for.
  bool has_unread() const;

 private:
  void send(std::string_view bytes) const;
  /// Appends what comes next to `to`.
  void receive(std::string& to) const;

  int socket_;
};

/// The body of a GET request that must be answered 200.
std::string get(int port, const std::string& path);

}  // namespace vitrine::bench
