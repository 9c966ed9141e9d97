#pragma once

#include <cstdint>
#include <vector>

#include "bench/serve/workload.h"

namespace vitrine::bench {

struct LoadPlan {
  int connections = 16;
  double rate = 0;  // requests per second, whatever is answered; 0: each connection asks again
                    // when it is answered
  double warm_up = 1, seconds = 10;  // measured is what follows the warm-up
};

/// What the metrics of the server say.
struct ServerCounts {
  double cpu_seconds = 0, resident_bytes = 0;
  int64_t answered = 0, refused = 0;  // with 200 and 503, on the route of the workload
  int64_t computed = 0;               // examples in batches
};

struct LoadReport {
  // All that were sent.
  int64_t sent = 0, right = 0, wrong = 0, refused = 0;
  int64_t lost = 0;                            // no answer
  int64_t other = 0;                           // neither 200 nor 503
  int64_t unasked = 0;                         // connections with more bytes than were asked for
  std::vector<double> accepted{}, refusals{};  // milliseconds to the answer
  // Behind the warm-up.
  double throughput = 0;                      // right answers per second
  double client_cores = 0, server_cores = 0;  // processor time per time on the clock
  ServerCounts before{}, after{};             // of all that were sent
};

ServerCounts server_counts(int port, const Workload& workload);

LoadReport run_load(const Workload& workload, int port, const LoadPlan& plan);

/// The value below which this fraction of all lies; 0 of none.
double quantile(std::vector<double> values, double fraction);

}  // namespace vitrine::bench
