#include "vitrine/serve/app.h"

#include <new>
#include <utility>

namespace vitrine::serve {
namespace {

/// Compares without telling by its time how much of the secret fits.
bool same_secret(const std::string& given, const std::string& secret) {
  unsigned different = given.size() != secret.size();
  for (size_t i = 0; i < given.size(); ++i)
    different |= static_cast<unsigned char>(given[i] ^ secret[i % secret.size()]);
  return different == 0;
}

/// "localhost" of "localhost:8080" or "[::1]" of "[::1]:8080".
std::string host_name(const std::string& host) {
  const auto colon = host.rfind(':');
  const bool port = colon != host.npos && host.find(']', colon) == host.npos;
  return port ? host.substr(0, colon) : host;
}

/// An address or the name of this machine; 127.example.org is a name that others may give.
bool is_loopback(const std::string& host) {
  const bool digits = host.find_first_not_of("0123456789.") == host.npos;
  return host == "localhost" || host == "[::1]" || host == "::1" ||
         (host.starts_with("127.") && digits);
}

/// Passes pieces on and counts them.
class CountedStream : public BodyStream {
 public:
  explicit CountedStream(BodyStream& to) : to_(to) {}
  bool send(std::string_view piece) override {
    const bool sent = to_.send(piece);
    if (sent) bytes += piece.size();
    return sent;
  }
  bool open() override { return to_.open(); }

  size_t bytes = 0;

 private:
  BodyStream& to_;
};

}  // namespace

App::App(const ServeConfig& config, ModelStore& models, Metrics& metrics, std::ostream* log)
    : config_(config),
      metrics_(metrics),
      log_(log),
      context_{.config = config_, .models = models, .metrics = metrics, .draining = draining_} {
  add_people_routes(router_, context_);
  add_explore_routes(router_, context_);
  add_sample_routes(router_, context_);
  add_token_routes(router_, context_);
  add_run_routes(router_, context_);
  add_prediction_routes(router_, context_);
  add_sweep_routes(router_, context_);
  add_infer_routes(router_, context_);
  add_page_routes(router_, context_);
}

std::optional<Response> App::refusal(const Request& head, const RouteMatch& match) const {
  if (draining_) return error_response(503, "the server is stopping");
  const auto host = head.header("host"), origin = head.header("origin");
  // A page of another site must not reach a server that only this machine may use.
  if (is_loopback(config_.transport.host) && !host.empty() && !is_loopback(host_name(host)))
    return error_response(403,
                          fmt::format("host '{}' is not this machine; start with --host", host));
  const bool own = origin.empty() || origin == "http://" + host || origin == "https://" + host;
  if (!own && origin != config_.cors)
    return error_response(403, fmt::format("origin '{}' may not ask; start with --cors", origin));
  if (head.method == "OPTIONS") return Response{.status = 204};
  if (match.route == nullptr && !match.allowed.empty()) {
    auto response =
        error_response(405, fmt::format("{} {}: use {}", head.method, head.path, match.allowed));
    response.headers.emplace_back("Allow", match.allowed);
    return response;
  }
  if (match.route == nullptr)
    return error_response(404, fmt::format("there is nothing at {}; see /openapi.json", head.path));
  if (!config_.token.empty() && !match.route->open &&
      !same_secret(head.header("authorization"), "Bearer " + config_.token)) {
    auto response = error_response(401, "send the header 'Authorization: Bearer TOKEN'");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  if (head.refusal == 413)
    return error_response(413, fmt::format("the body is larger than this server takes ({} bytes)",
                                           config_.transport.max_body));
  if (head.refusal != 0) return error_response(head.refusal, "the body did not come whole");
  return std::nullopt;
}

std::optional<Response> App::admit(const Request& head) {
  const auto begin = Clock::now();
  const auto match = router_.match(head.method, head.path);
  auto response = refusal(head, match);
  if (!response) return std::nullopt;
  return finish(head, match.route ? match.route->pattern : "other", std::move(*response), begin);
}

Response App::answer(Request request) {
  const auto begin = Clock::now();
  auto match = router_.match(request.method, request.path);
  // What was admitted is answered, even if the server has begun to stop since.
  if (match.route == nullptr || request.refusal != 0) {
    auto response = refusal(request, match);
    return finish(request, match.route ? match.route->pattern : "other",
                  response ? std::move(*response) : error_response(400, "not a request"), begin);
  }
  request.captured = std::move(match.captured);
  return finish(request, match.route->pattern, compute(*match.route, request), begin);
}

Response App::compute(const Route& route, const Request& request) const {
  try {
    return route.handle(request);
  } catch (const HttpError& e) {
    return error_response(e.status, e.what());
  } catch (const QueueFull& e) {
    return error_response(503, e.what());
  } catch (const DeadlinePassed& e) {
    return error_response(504, e.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "there is not enough memory for this request now");
  } catch (const std::exception& e) {
    return error_response(500, message_of(e));
  }
}

Response App::finish(const Request& request, const std::string& route, Response response,
                     Clock::time_point begin) {
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (!config_.cors.empty() && request.header("origin") == config_.cors) {
    response.headers.emplace_back("Access-Control-Allow-Origin", config_.cors);
    response.headers.emplace_back("Vary", "Origin");
    response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
    response.headers.emplace_back("Access-Control-Allow-Headers",
                                  "Authorization, Content-Type, Accept, X-Timeout-Ms, "
                                  "Inference-Header-Content-Length");
  }
  Outcome outcome{.route = route,
                  .method = request.method,
                  .path = request.path,
                  .remote = request.remote,
                  .status = response.status,
                  .received = request.received(),
                  .sent = response.body.size(),
                  .begin = begin};
  if (response.stream)  // it is answered when the stream has ended and what it held is free
    response.stream = [this, outcome, send = std::move(response.stream)](BodyStream& to) mutable {
      CountedStream counted(to);
      std::exchange(send, nullptr)(counted);
      outcome.sent = counted.bytes;
      record(outcome);
    };
  else
    record(outcome);
  return response;
}

void App::record(const Outcome& o) {
  const auto seconds = std::chrono::duration<double>(Clock::now() - o.begin).count();
  metrics_.count_request(o.route, o.status, seconds);
  if (log_ == nullptr) return;
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  const ordered_json line = {{"time", now.count()}, {"remote", o.remote},
                             {"method", o.method},  {"path", o.path},
                             {"status", o.status},  {"received", o.received},
                             {"sent", o.sent},      {"milliseconds", 1000 * seconds}};
  const std::lock_guard lock(log_mutex_);
  *log_ << text_of(line) << std::endl;
}

}  // namespace vitrine::serve
