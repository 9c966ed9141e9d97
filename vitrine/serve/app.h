#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <ostream>

#include "vitrine/serve/config.h"
#include "vitrine/serve/engine/model_store.h"
#include "vitrine/serve/http.h"
#include "vitrine/serve/metrics.h"
#include "vitrine/serve/router.h"
#include "vitrine/serve/routes/common.h"

namespace vitrine::serve {

/// Everything between a whole request and its answer: who may ask, routes, errors, metrics and the
/// access log. Needs no socket.
class App {
 public:
  /// `log` gets a line of JSON per request; null: none.
  App(const ServeConfig& config, ModelStore& models, Metrics& metrics, std::ostream* log);

  /// An answer if the request is refused whatever its body is.
  std::optional<Response> admit(const Request& head);
  Response answer(Request request);
  /// From now on new requests are refused.
  void drain() { draining_ = true; }

  const std::vector<Route>& routes() const { return router_.routes(); }

 private:
  std::optional<Response> refusal(const Request& head, const RouteMatch& match) const;
  Response compute(const Route& route, const Request& request) const;
  /// What a request and its answer were, for metrics and log.
  struct Outcome {
    std::string route, method, path, remote;
    int status = 0;
    size_t received = 0, sent = 0;  // bytes
    Clock::time_point begin{};
  };
  /// Completes an answer; counts and logs it, if it is a stream when that has ended.
  Response finish(const Request& request, const std::string& route, Response response,
                  Clock::time_point begin);
  void record(const Outcome& outcome);

  const ServeConfig config_;
  std::atomic<bool> draining_ = false;
  Metrics& metrics_;
  std::ostream* log_;
  std::mutex log_mutex_;
  RouteContext context_;
  Router router_;
};

}  // namespace vitrine::serve
