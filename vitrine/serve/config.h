#pragma once

#include "vitrine/core/files.h"
#include "vitrine/core/precision.h"
#include "vitrine/serve/engine/batch_queue.h"
#include "vitrine/serve/transport/http_server.h"

namespace vitrine::serve {

struct ServeConfig {
  TransportConfig transport{};
  BatchLimits batch{};
  Precision precision = Precision::Float32;
  fs::path runs = "runs";      // whose folders are shown
  fs::path sweeps = "sweeps";  // the same for sweeps
  fs::path page{};             // a folder with the page's files; empty: a short text
  std::string token{};         // that clients must send; empty: none
  std::string cors{};          // an origin whose pages may ask; empty: none
  int64_t max_pixels = int64_t{32} * 1000000;  // of an image
  int64_t max_answers = int64_t{256} << 20;    // bytes of large answers at once
};

}  // namespace vitrine::serve
