#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "vitrine/serve/http.h"

namespace vitrine::serve {

struct TransportConfig {
  std::string host = "127.0.0.1";
  int port = 8080;                                // 0: any that is free
  int64_t max_body = int64_t{16} << 20;           // bytes of a request
  int64_t connections = 128;                      // at once; more are answered 503
  double header_seconds = 10, body_seconds = 30;  // to receive a request, in all
  double idle_seconds = 5;                        // between two requests of a connection
};

/// What answers requests.
struct HttpHandler {
  /// Looks at a request whose body is not yet read; an answer refuses it.
  std::function<std::optional<Response>(const Request&)> admit;
  std::function<Response(Request)> answer;
};

/// HTTP/1.1 over sockets: limits, time-outs and threads. Knows nothing of what is served.
class HttpServer {
 public:
  /// Binds at once; throws if the address is taken.
  HttpServer(const TransportConfig& config, HttpHandler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  int port() const;
  /// Serves on a thread of its own.
  void start();
  /// Serves a socket that is connected already, on this thread, and closes it at the end.
  void serve_connection(int socket);
  /// Takes no more connections and returns when all requests under way are answered.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vitrine::serve
