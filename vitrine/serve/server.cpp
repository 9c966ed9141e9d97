#include "vitrine/serve/server.h"

namespace vitrine::serve {
namespace {

ModelStore& filled(ModelStore& store, const std::vector<std::string>& models) {
  for (const auto& model : models) store.add(model);
  return store;
}

}  // namespace

Server::Server(const ServeConfig& config, const std::vector<std::string>& models, std::ostream* log)
    : models_(config.precision, config.batch, metrics_),
      app_(config, filled(models_, models), metrics_, log),
      http_(config.transport,
            {.admit = [this](const Request& head) { return app_.admit(head); },
             .answer = [this](Request request) { return app_.answer(std::move(request)); }}) {}

void Server::stop() {
  app_.drain();
  http_.stop();
}

}  // namespace vitrine::serve
