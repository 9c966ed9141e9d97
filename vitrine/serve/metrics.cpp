#include "vitrine/serve/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace vitrine::serve {
namespace {

const std::vector<double> kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                      0.25,  0.5,    1,     2.5,  5,     10};
const std::vector<double> kRows = {1, 2, 4, 8, 16, 32, 64};

std::string header(const std::string& name, const std::string& kind, const std::string& help) {
  return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, kind, help);
}

/// `label` is such as route="/metrics".
std::string lines_of(const std::string& name, const std::string& label, const Histogram& h) {
  std::string text;
  for (size_t i = 0; i < h.bounds.size(); ++i)
    text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, label, h.bounds[i], h.counts[i]);
  return text + fmt::format(
                    "{0}_bucket{{{1},le=\"+Inf\"}} {2}\n{0}_sum{{{1}}} {3}\n"
                    "{0}_count{{{1}}} {2}\n",
                    name, label, h.count, h.sum);
}

/// What Prometheus calls the metrics of any process.
std::string process_lines() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return header("process_cpu_seconds_total", "counter", "Processor time, user and system.") +
         fmt::format("process_cpu_seconds_total {:.3f}\n",
                     seconds(used.ru_utime) + seconds(used.ru_stime)) +
         header("process_resident_memory_bytes", "gauge", "Resident memory.") +
         fmt::format("process_resident_memory_bytes {}\n", resident * ::sysconf(_SC_PAGESIZE));
}

}  // namespace

void Histogram::add(double value) {
  for (size_t i = 0; i < bounds.size(); ++i) counts[i] += value <= bounds[i];
  ++count;
  sum += value;
}

void Metrics::count_request(const std::string& route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  latencies_.try_emplace(route, kSeconds).first->second.add(seconds);
}

void Metrics::count_batch(const std::string& model, int64_t rows) {
  const std::lock_guard lock(mutex_);
  batches_.try_emplace(model, kRows).first->second.add(static_cast<double>(rows));
}

void Metrics::count_tokens(const std::string& model, int64_t tokens) {
  const std::lock_guard lock(mutex_);
  tokens_[model] += tokens;
}

std::string Metrics::text(const std::vector<QueueLength>& queues) const {
  const std::lock_guard lock(mutex_);
  auto text = header("vitrine_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : requests_)
    text += fmt::format("vitrine_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                        key.second, count);
  text +=
      header("vitrine_request_seconds", "histogram", "Time from the whole request to its answer.");
  for (const auto& [route, histogram] : latencies_)
    text += lines_of("vitrine_request_seconds", fmt::format("route=\"{}\"", route), histogram);
  text += header("vitrine_batch_size", "histogram", "Examples per forward pass.");
  for (const auto& [model, histogram] : batches_)
    text += lines_of("vitrine_batch_size", fmt::format("model=\"{}\"", model), histogram);
  text += header("vitrine_tokens_total", "counter", "Tokens sampled.");
  for (const auto& [model, count] : tokens_)
    text += fmt::format("vitrine_tokens_total{{model=\"{}\"}} {}\n", model, count);
  text += header("vitrine_queue_length", "gauge", "Requests that wait for the model.");
  for (const auto& [model, waiting] : queues)
    text += fmt::format("vitrine_queue_length{{model=\"{}\"}} {}\n", model, waiting);
  return text + process_lines();
}

}  // namespace vitrine::serve
