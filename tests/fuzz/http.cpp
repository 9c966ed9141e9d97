// Bytes on a connection of the server: HTTP as it parses it, the choice of a route, and bodies of
// JSON.
#include <sys/socket.h>
#include <unistd.h>

#include <semaphore>
#include <thread>

#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/serve/router.h"
#include "vitrine/serve/routes/infer_request.h"
#include "vitrine/serve/routes/json_body.h"
#include "vitrine/serve/transport/http_server.h"

namespace vitrine::fuzz {
namespace {

serve::Response sample(const serve::Request& request) {
  serve::JsonBody body(request);
  body.text("text");
  body.number("temperature", 1);
  body.integer("count", 1, 1, 100);
  body.refuse_others();
  return {.body = "{}"};
}

/// The server with routes that compute nothing.
class Target {
 public:
  Target() {
    router_.add({"GET", "/v1/runs/{name}/metrics", [](const serve::Request& r) {
                   must(!r.path_part("name").empty(), "a part of the path is empty");
                   return serve::Response{.body = r.path_part("name") + r.parameter("from")};
                 }});
    router_.add({"POST", "/v1/sample", sample});
    router_.add({"POST", "/v2/infer", [](const serve::Request& r) {
                   serve::read_infer_request(r, {1, 2, 2});
                   return serve::Response{};
                 }});
    router_.add({"POST", "/v1/classify",
                 [](const serve::Request& r) { return serve::Response{.body = r.part("image")}; }});
  }
  void serve(int socket) { server_.serve_connection(socket); }

 private:
  std::optional<serve::Response> admit(const serve::Request& head) const {
    if (head.refusal != 0) return serve::error_response(head.refusal, "refused");
    if (router_.match(head.method, head.path).route != nullptr) return std::nullopt;
    return serve::error_response(404, "there is nothing at " + head.path);
  }
  serve::Response answer(serve::Request request) const {
    auto match = router_.match(request.method, request.path);
    if (match.route == nullptr || request.refusal != 0)
      return serve::error_response(400, "refused");
    request.captured = std::move(match.captured);
    try {
      return match.route->handle(request);
    } catch (const serve::HttpError& e) {
      return serve::error_response(e.status, e.what());
    }
  }

  serve::Router router_;
  serve::HttpServer server_{
      {.port = 0, .max_body = 1 << 16},
      {.admit = [this](const serve::Request& head) { return admit(head); },
       .answer = [this](const serve::Request& request) { return answer(request); }}};
};

/// The other end of connections. It reads on a thread of its own: a socket may hold less than the
/// answers to many requests.
class Client {
 public:
  Client() {
    std::thread([this] { read(); }).detach();
  }

  /// All that `serve` answers to these bytes, after which the client closes its half.
  template <typename Serve>
  std::string_view answer(std::string_view bytes, Serve serve) {
    int ends[2];
    must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no connection");
    must(::send(ends[0], bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes),
         "the input cannot be sent");
    ::shutdown(ends[0], SHUT_WR);
    socket_ = ends[0];
    begin_.release();
    serve(ends[1]);
    end_.acquire();
    ::close(ends[0]);
    return answer_;
  }

 private:
  void read() {
    for (std::string block(1 << 16, '\0');; end_.release()) {
      begin_.acquire();
      answer_.clear();
      for (ssize_t count; (count = ::recv(socket_, block.data(), block.size(), 0)) > 0;)
        answer_.append(block, 0, static_cast<size_t>(count));
    }
  }

  int socket_ = -1;
  std::string answer_;
  std::binary_semaphore begin_{0}, end_{0};
};

}  // namespace

void http(std::string_view bytes) {
  static Target& target = *new Target;  // both live until the process ends
  static Client& client = *new Client;
  const auto answer = client.answer(bytes, [](int socket) { target.serve(socket); });
  must(answer.empty() || answer.starts_with("HTTP/1.1 "), "the answer is not HTTP");
  must(!answer.starts_with("HTTP/1.1 500"), "an exception reached the transport");
}

}  // namespace vitrine::fuzz
