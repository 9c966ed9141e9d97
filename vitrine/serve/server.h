#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "vitrine/serve/app.h"
#include "vitrine/serve/config.h"

namespace vitrine::serve {

/// Models behind HTTP.
class Server {
 public:
  /// Loads the models, then binds. `log`: the access log; null: none.
  Server(const ServeConfig& config, const std::vector<std::string>& models, std::ostream* log);

  void start() { http_.start(); }
  /// Refuses new requests, answers those that were accepted, and returns.
  void stop();

  int port() const { return http_.port(); }
  const App& app() const { return app_; }
  const ModelStore& models() const { return models_; }

 private:
  Metrics metrics_;
  ModelStore models_;
  App app_;
  HttpServer http_;
};

}  // namespace vitrine::serve
