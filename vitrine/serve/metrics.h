#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace vitrine::serve {

/// How many values fell below each bound, and their sum.
struct Histogram {
  explicit Histogram(std::vector<double> bounds = {})
      : bounds(std::move(bounds)), counts(this->bounds.size()) {}
  void add(double value);

  std::vector<double> bounds;   // rising
  std::vector<int64_t> counts;  // of values up to each bound
  int64_t count = 0;
  double sum = 0;
};

/// How many requests of a model wait.
struct QueueLength {
  std::string model;
  int64_t waiting = 0;
};

/// What the server has done so far, for Prometheus. Any thread may call it.
class Metrics {
 public:
  /// `route` is a route's pattern, so that there are few.
  void count_request(const std::string& route, int status, double seconds);
  void count_batch(const std::string& model, int64_t rows);
  void count_tokens(const std::string& model, int64_t tokens);

  /// The text format that Prometheus reads, version 0.0.4.
  std::string text(const std::vector<QueueLength>& queues) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;  // by route and status
  std::map<std::string, Histogram> latencies_;               // by route, in seconds
  std::map<std::string, Histogram> batches_;                 // by model, in examples
  std::map<std::string, int64_t> tokens_;                    // by model, sampled
};

}  // namespace vitrine::serve
