#include "bench/serve/load.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <thread>

#include "vitrine/core/error.h"

namespace vitrine::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(20);  // of a connection that was refused
constexpr auto kIdle = std::chrono::seconds(2);         // less than the server waits for a request

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

/// The value of a line; 0 if there is none.
double metric(const std::string& text, const std::string& name) {
  const auto at = text.find("\n" + name + " ");
  return at == text.npos ? 0 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

/// One connection: its requests and what became of them.
struct Client {
  LoadReport report{};
  std::vector<Clock::time_point> arrivals{};  // of right answers
};

class Load {
 public:
  Load(const Workload& workload, int port, const LoadPlan& plan)
      : workload_(workload), port_(port), plan_(plan) {}

  LoadReport run() {
    const auto before = server_counts(port_, workload_);
    std::vector<Client> clients(static_cast<size_t>(plan_.connections));
    std::vector<std::thread> threads;
    begin_ = Clock::now();
    for (auto& client : clients) threads.emplace_back([&] { work(client); });
    std::this_thread::sleep_until(begin_ + seconds(plan_.warm_up));
    const auto from = Clock::now();
    const auto cpu = cpu_seconds(), server_cpu = server_counts(port_, workload_).cpu_seconds;
    std::this_thread::sleep_until(from + seconds(plan_.seconds));
    const auto to = Clock::now();
    const auto time = std::chrono::duration<double>(to - from).count();
    LoadReport all{
        .client_cores = (cpu_seconds() - cpu) / time,
        .server_cores = (server_counts(port_, workload_).cpu_seconds - server_cpu) / time,
        .before = before};
    stop_ = true;
    for (auto& thread : threads) thread.join();
    for (const auto& client : clients) {
      add(client.report, all);
      all.throughput += static_cast<double>(
          std::count_if(client.arrivals.begin(), client.arrivals.end(),
                        [&](auto arrived) { return arrived >= from && arrived < to; }));
    }
    all.throughput /= time;
    all.after = server_counts(port_, workload_);
    return all;
  }

 private:
  static void add(const LoadReport& one, LoadReport& all) {
    for (const auto count :
         {&LoadReport::sent, &LoadReport::right, &LoadReport::wrong, &LoadReport::refused,
          &LoadReport::lost, &LoadReport::other, &LoadReport::unasked})
      all.*count += one.*count;
    all.accepted.insert(all.accepted.end(), one.accepted.begin(), one.accepted.end());
    all.refusals.insert(all.refusals.end(), one.refusals.begin(), one.refusals.end());
  }

  void work(Client& client) {
    auto& report = client.report;
    try {
      std::optional<Connection> connection(port_);
      auto arrived = Clock::now();
      while (const auto number = next()) {
        ++report.sent;
        ++report.lost;  // until it is answered
        const auto asked = Clock::now();
        if (asked - arrived > kIdle) {
          report.unasked += connection->has_unread();
          connection.emplace(port_);
        }
        const auto answer = workload_.ask(*connection, *number);
        arrived = Clock::now();
        --report.lost;
        const auto time = std::chrono::duration<double, std::milli>(arrived - asked).count();
        if (answer.status == 200) {
          const bool right = workload_.is_right(answer, *number);
          ++(right ? report.right : report.wrong);
          report.accepted.push_back(time);
          if (right) client.arrivals.push_back(arrived);
        } else if (answer.status == 503) {
          ++report.refused;
          report.refusals.push_back(time);
          if (plan_.rate == 0) std::this_thread::sleep_for(kPause);
        } else {
          ++report.other;
        }
      }
      report.unasked += connection->has_unread();
    } catch (const std::exception&) {  // the request that was not answered is counted as lost
    }
  }

  /// The number of the next request, when it is due; nothing at the end.
  std::optional<int64_t> next() {
    const auto number = next_++;
    if (plan_.rate > 0)
      std::this_thread::sleep_until(begin_ + seconds(static_cast<double>(number) / plan_.rate));
    return stop_ ? std::nullopt : std::optional(number);
  }

  const Workload& workload_;
  const int port_;
  const LoadPlan plan_;
  Clock::time_point begin_{};
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> stop_ = false;
};

}  // namespace

ServerCounts server_counts(int port, const Workload& workload) {
  const auto text = get(port, "/metrics");
  const auto requests = [&](int status) {
    return std::llround(
        metric(text, fmt::format("vitrine_requests_total{{route=\"{}\",status=\"{}\"}}",
                                 workload.route(), status)));
  };
  return {.cpu_seconds = metric(text, "process_cpu_seconds_total"),
          .resident_bytes = metric(text, "process_resident_memory_bytes"),
          .answered = requests(200),
          .refused = requests(503),
          .computed = std::llround(
              metric(text, fmt::format("vitrine_batch_size_sum{{model=\"{}\"}}", kModel)))};
}

LoadReport run_load(const Workload& workload, int port, const LoadPlan& plan) {
  return Load(workload, port, plan).run();
}

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(at), values.end());
  return values[at];
}

}  // namespace vitrine::bench
