#pragma once

#include "tests/support/small_generators.h"
#include "tests/support/small_server.h"
#include "vitrine/data/sentences.h"

namespace vitrine::test {

/// 3072 bytes of an image: sampling them takes many turns of a model's thread.
inline const std::string kLongImage =
    "{name: sparse_c10_tiny, rows: 32, columns: 32, layers: 8, heads: 2, dim: 16, key_width: 8, "
    "hidden: 24, pattern: {stride: 32}}";

/// A server on a free port with these models of random weights, by name, until the test ends.
class ZooServer {
 public:
  struct Given {
    std::string name, settings;
  };

  explicit ZooServer(const std::vector<Given>& models, serve::ServeConfig config = {}) {
    std::vector<std::string> paths;
    for (const auto& [name, settings] : models) {
      const bool words = settings.find("word_transformer") != std::string::npos;
      save_shaken(path_of(name), settings,
                  words ? sentence_vocabulary().words() : std::vector<std::string>{});
      paths.push_back(path_of(name).string());
    }
    config.transport = patient(config.transport);
    config.transport.port = 0;
    config.runs = folder / "runs";
    server = std::make_unique<serve::Server>(config, paths, &log);
    server->start();
  }
  ~ZooServer() { server->stop(); }

  fs::path path_of(const std::string& name) const { return folder / (name + ".safetensors"); }
  int port() const { return server->port(); }
  httplib::Client client() const { return patient_client(port()); }
  /// What a metric counts, by the start of its line; 0 if there is no such line.
  int64_t metric(const std::string& line) const {
    const auto text = client().Get("/metrics")->body;
    const auto begin = text.find(line + " ");
    return begin == text.npos ? 0 : std::stoll(text.substr(begin + line.size() + 1));
  }

  TemporaryFolder folder;
  std::ostringstream log;
  std::unique_ptr<serve::Server> server;
};

}  // namespace vitrine::test
