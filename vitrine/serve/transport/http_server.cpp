#include "vitrine/serve/transport/http_server.h"

#include <httplib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <thread>
#include <utility>

#include "vitrine/serve/transport/connection_threads.h"
#include "vitrine/serve/transport/httplib_compat.h"
#include "vitrine/serve/transport/limited_stream.h"

namespace vitrine::serve {
namespace {

constexpr int64_t kHeaderBytes = int64_t{64} << 10;
constexpr int64_t kFraming = int64_t{1} << 20;  // of multipart and chunked bodies
constexpr size_t kRequestsPerConnection = 10000, kMaxParts = 16;
constexpr int kBacklog = 512;

constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
    "Connection: close\r\nContent-Length: 33\r\n\r\n{\"error\": \"too many connections\"}";

thread_local LimitedStream* current_stream = nullptr;

LimitedStream::Clock::time_point after(double seconds) {
  return LimitedStream::Clock::now() + std::chrono::duration_cast<LimitedStream::Clock::duration>(
                                           std::chrono::duration<double>(seconds));
}

/// A body in chunks, a piece each. They are not httplib's, which sends none once it stops.
class ChunkedBody : public BodyStream {
 public:
  explicit ChunkedBody(LimitedStream& stream) : stream_(stream) {}

  bool send(std::string_view piece) override {
    if (piece.empty()) return open_;  // an empty chunk would end the body
    open_ = open_ && stream_.write_all(fmt::format("{:x}\r\n{}\r\n", piece.size(), piece));
    return open_;
  }
  bool open() override { return open_ = open_ && stream_.is_connected(); }
  /// Whether the client got all of it.
  bool end() { return open_ && stream_.write_all("0\r\n\r\n"); }

 private:
  LimitedStream& stream_;
  bool open_ = true;
};

/// A body for a client that knows no chunks (HTTP/1.0): it waits for all of it.
class WholeBody : public BodyStream {
 public:
  bool send(std::string_view piece) override {
    text += piece;
    return open();
  }
  bool open() override { return current_stream->is_connected(); }

  std::string text{};
};

/// httplib's server with a stream of ours below each connection.
class LimitedServer : public StreamServer {
 public:
  LimitedServer(const TransportConfig& config) : config_(config) {}

  /// Lets more connections wait than the library does.
  void widen_backlog() { ::listen(svr_sock_, kBacklog); }

  bool process_and_close_socket(socket_t socket) override {
    LimitedStream stream(socket);
    if (ConnectionThreads::refusing()) {
      stream.write(kTooMany.data(), kTooMany.size());
      stream.discard();
    } else {
      current_stream = &stream;
      serve(stream);
      current_stream = nullptr;
    }
    ::close(socket);
    return true;
  }

  std::atomic<bool> stopping = false;

 private:
  void serve(LimitedStream& stream) {
    bool done = false;
    for (size_t i = 0; i < kRequestsPerConnection && !done; ++i) {
      if (!stream.wait_for_request(after(config_.idle_seconds), [&] { return stopping.load(); }))
        return;
      stream.allow(kHeaderBytes, after(config_.header_seconds));
      const bool last = i + 1 == kRequestsPerConnection || stopping;
      const bool answered = answer_request(stream, last, done, forget_ranges) && send_body(stream);
      stream.held = nullptr;
      done = done || last || !answered || stream.unread_body;
      if (!answered || stream.unread_body) stream.close_gently();
    }
  }

  /// Every answer is whole: many ranges would be far larger than what they are taken from.
  static void forget_ranges(httplib::Request& request) { request.ranges.clear(); }

  /// Makes and sends the body whose header httplib has sent, if there is one.
  static bool send_body(LimitedStream& stream) {
    if (!stream.body) return true;
    const auto make = std::exchange(stream.body, nullptr);
    ChunkedBody body(stream);
    make(body);
    return body.end();
  }

  const TransportConfig config_;
};

Request request_of(const httplib::Request& from) {
  Request to{.method = from.method, .path = from.path, .remote = from.remote_addr};
  for (const auto& [name, value] : from.params) to.query.emplace(name, value);
  for (const auto& [name, value] : from.headers) {
    auto lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    to.headers.emplace(lower, value);
  }
  return to;
}

void give(httplib::Response& to, Response from, bool chunks = true) {
  to.status = from.status;
  current_stream->held = std::move(from.held);
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  if (from.stream && chunks) {
    current_stream->body = std::move(from.stream);
    to.set_chunked_content_provider(from.type, [](size_t, httplib::DataSink& sink) {
      return sink.write("", 0);  // nothing: only the header is httplib's
    });
  } else if (from.stream) {
    WholeBody whole;
    from.stream(whole);
    to.set_content(whole.text, from.type);
  } else {
    to.set_content("", from.type);
    to.body = std::move(from.body);  // it may be large
  }
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
}

bool is_chunked(const httplib::Request& request) {
  const auto coding = request.get_header_value("Transfer-Encoding");
  return strcasecmp(coding.c_str(), "chunked") == 0;
}

/// What the header alone forbids: a status, or 0.
int refusal_of(const httplib::Request& request, int64_t max_body) {
  if (request.has_header("Transfer-Encoding") && !is_chunked(request)) return 400;
  if (!request.has_header("Content-Length")) return 0;
  const auto text = request.get_header_value("Content-Length");
  uint64_t bytes = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bytes);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (digits && error == std::errc::result_out_of_range) return 413;
  if (error != std::errc() || rest != end || request.has_header("Transfer-Encoding") ||
      request.get_header_value_count("Content-Length") > 1)
    return 400;
  return bytes > static_cast<uint64_t>(max_body) ? 413 : 0;
}

/// Reads the body, or the fields of a multipart one; false if it is more than `limit` bytes, came
/// too slowly or is broken.
bool read_body(const httplib::ContentReader& read, bool multipart, int64_t limit, Request& request,
               bool& too_large) {
  std::string* to = &request.body;
  int64_t total = 0;
  const auto take = [&](const char* bytes, size_t count) {
    total += static_cast<int64_t>(count);
    too_large = total > limit;
    if (!too_large) to->append(bytes, count);
    return !too_large;
  };
  if (!multipart) return read(take);
  return read(
      [&](const httplib::MultipartFormData& field) {
        const auto [place, fresh] = request.parts.try_emplace(field.name);
        to = &place->second;
        return fresh && request.parts.size() <= kMaxParts;
      },
      take);
}

}  // namespace

struct HttpServer::Impl {
  Impl(const TransportConfig& c, HttpHandler h) : config(c), handler(std::move(h)), server(c) {}

  httplib::Server::HandlerResponse admit(const httplib::Request& from, httplib::Response& to) {
    auto request = request_of(from);
    request.refusal = refusal_of(from, config.max_body);
    const bool reads_body = from.method == "POST";
    auto refusal = handler.admit(request);
    current_stream->unread_body = has_body(from) && (refusal || !reads_body);
    if (refusal) {
      give(to, std::move(*refusal));
      return httplib::Server::HandlerResponse::Handled;
    }
    current_stream->allow(config.max_body + kFraming, after(config.body_seconds));
    return httplib::Server::HandlerResponse::Unhandled;
  }

  void answer_with_body(const httplib::Request& from, httplib::Response& to,
                        const httplib::ContentReader& read) {
    auto request = request_of(from);
    bool too_large = false;
    // httplib takes a broken chunk for the last one: what follows may be no request.
    current_stream->unread_body = is_chunked(from);
    if (has_body(from) &&
        !read_body(read, from.is_multipart_form_data(), config.max_body, request, too_large)) {
      current_stream->unread_body = true;
      request.refusal = too_large ? 413 : 400;
    }
    give(to, handler.answer(std::move(request)), /*chunks=*/from.version != "HTTP/1.0");
    if (current_stream->unread_body) to.set_header("Connection", "close");
  }

  const TransportConfig config;
  const HttpHandler handler;
  LimitedServer server;
  int port = 0;
  std::thread thread;
};

HttpServer::HttpServer(const TransportConfig& config, HttpHandler handler)
    : impl_(std::make_unique<Impl>(config, std::move(handler))) {
  auto& i = *impl_;
  i.server.new_task_queue = [n = config.connections] { return new ConnectionThreads(n); };
  i.server.set_payload_max_length(static_cast<size_t>(config.max_body + kFraming));
  i.server.set_tcp_nodelay(true);
  i.server.set_pre_routing_handler([&i](const auto& from, auto& to) { return i.admit(from, to); });
  i.server.set_error_handler([](const httplib::Request&, httplib::Response& to) {
    if (!to.body.empty()) return;  // ours
    give(to, error_response(to.status, "the request is not valid HTTP"));
    to.set_header("Connection", "close");
    current_stream->unread_body = true;  // where the next request begins nobody knows
  });
  i.server.Get(".*", [&i](const httplib::Request& from, httplib::Response& to) {
    give(to, i.handler.answer(request_of(from)));
  });
  i.server.Post(".*",
                [&i](const httplib::Request& from, httplib::Response& to,
                     const httplib::ContentReader& read) { i.answer_with_body(from, to, read); });
  // Not SO_REUSEPORT, the library's default: two servers would share a port.
  i.server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  i.port = config.port == 0 ? i.server.bind_to_any_port(config.host) : config.port;
  const bool bound =
      config.port == 0 ? i.port > 0 : i.server.bind_to_port(config.host, config.port);
  check(bound, "serve: {}:{} cannot be bound; is another server running there? Choose --port",
        config.host, config.port);
  i.server.widen_backlog();
}

HttpServer::~HttpServer() { stop(); }

int HttpServer::port() const { return impl_->port; }

void HttpServer::start() {
  impl_->thread = std::thread([this] { impl_->server.listen_after_bind(); });
  while (!impl_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void HttpServer::serve_connection(int socket) { impl_->server.process_and_close_socket(socket); }

void HttpServer::stop() {
  impl_->server.stopping = true;
  if (!impl_->thread.joinable()) return;
  impl_->server.stop();
  impl_->thread.join();
}

}  // namespace vitrine::serve
