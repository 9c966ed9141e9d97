#pragma once

#include <gtest/gtest.h>
#include <httplib.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/event_client.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/random.h"
#include "vitrine/serve/server.h"

namespace vitrine::test {

inline constexpr const char* kPng = "image/png";

/// A PNG file of random pixels.
inline std::string noise_png(uint64_t seed, int64_t width = 16, int64_t height = 16) {
  Image image(width, height);
  Random random{seed};
  for (auto& value : image.pixels) value = static_cast<uint8_t>(random.below(256));
  return encode_png(image);
}

/// Time limits that a test never meets because the machine is slow; those that it sets stay.
inline serve::TransportConfig patient(serve::TransportConfig limits) {
  using serve::TransportConfig;
  for (const auto seconds : {&TransportConfig::header_seconds, &TransportConfig::body_seconds,
                             &TransportConfig::idle_seconds})
    if (limits.*seconds == TransportConfig().*seconds) limits.*seconds = 300;
  return limits;
}

/// A server on a free port with a small ViT of random weights, "small", and more models if they are
/// given, until the test ends.
class SmallServer {
 public:
  explicit SmallServer(serve::ServeConfig config = {}, const std::string& model = "vit_c10_small",
                       const std::vector<std::string>& settings = kSmallVit,
                       std::vector<std::string> more = {}) {
    save_small_checkpoint(path, model, settings);
    config.transport = patient(config.transport);
    config.transport.port = 0;
    if (config.runs == "runs") config.runs = folder / "runs";
    more.push_back(path.string());
    server = std::make_unique<serve::Server>(config, more, &log);
    server->start();
  }
  ~SmallServer() { server->stop(); }

  httplib::Client client() const { return patient_client(server->port()); }

  TemporaryFolder folder;
  const fs::path path = folder / "small.safetensors";
  std::ostringstream log;
  std::unique_ptr<serve::Server> server;
};

inline nlohmann::json json_of(const httplib::Result& result) {
  return result ? nlohmann::json::parse(result->body) : nlohmann::json();
}

/// Expects an answer with this status whose error has these words.
inline void expect_error(const httplib::Result& result, int status, const std::string& words) {
  ASSERT_TRUE(result) << httplib::to_string(result.error());
  EXPECT_EQ(result->status, status) << result->body;
  const auto json = nlohmann::json::parse(result->body, nullptr, false);
  ASSERT_TRUE(json.is_object() && json.contains("error")) << result->body;
  EXPECT_NE(json["error"].get<std::string>().find(words), std::string::npos) << json["error"];
}

}  // namespace vitrine::test
