#pragma once

#include "tests/support/small_generators.h"
#include "tests/support/small_server.h"
#include "vitrine/data/sentences.h"

namespace vitrine::test {

/// A server with a small model of each kind and no access log.
class FuzzTarget {
 public:
  explicit FuzzTarget(serve::TransportConfig transport) {
    save_small_checkpoint(path_of("small"), "vit_c10_small", kSmallVit);
    save_shaken(path_of("words"), kSentences, sentence_vocabulary().words());
    save_shaken(path_of("images"), kImageBytes);
    save_shaken(path_of("adder"), "{name: addition_transformer}");
    transport.port = 0;
    const serve::ServeConfig config{
        .transport = transport, .runs = folder_ / "runs", .sweeps = folder_ / "sweeps"};
    std::vector<std::string> models;
    for (const auto* name : {"small", "words", "images", "adder"})
      models.push_back(path_of(name).string());
    server_ = std::make_unique<serve::Server>(config, models, /*log=*/nullptr);
    server_->start();
  }
  FuzzTarget(const FuzzTarget&) = delete;
  FuzzTarget& operator=(const FuzzTarget&) = delete;
  ~FuzzTarget() { server_->stop(); }

  int port() const { return server_->port(); }
  /// The predictions for an image; null if there is no such answer.
  nlohmann::json classify() const {
    const auto answer = patient_client(port()).Post("/v1/classify", noise_png(1), kPng);
    return answer && answer->status == 200 ? json_of(answer)["predictions"] : nlohmann::json();
  }

 private:
  fs::path path_of(const std::string& name) const { return folder_ / (name + ".safetensors"); }

  TemporaryFolder folder_;
  std::unique_ptr<serve::Server> server_;
};

}  // namespace vitrine::test
