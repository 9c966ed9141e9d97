#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/serve/connection.h"
#include "vitrine/core/files.h"

namespace vitrine::bench {

/// What a served model is called here.
inline constexpr const char* kModel = "model";

/// Requests of one kind, by number, and what must come back.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string name() const = 0;
  /// The pattern by which the server counts them.
  virtual std::string route() const = 0;
  virtual Answer ask(Connection& connection, int64_t number) const = 0;
  /// Whether an answer with status 200 is the one to this request.
  virtual bool is_right(const Answer& answer, int64_t number) const = 0;
};

/// Tensors for /v2/models/M/infer: what `vitrine bench infer` computes, and no more. Asks the
/// server, which must be idle, for what it answers to each alone.
std::unique_ptr<Workload> tensor_workload(int port);
/// The image files of a folder for /v1/classify, which also decodes and resizes them.
std::unique_ptr<Workload> photo_workload(int port, const fs::path& folder);

}  // namespace vitrine::bench
